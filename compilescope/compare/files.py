"""Which file of one run is which file of the other.

Runs are recorded in different folders, and a changed script is often a copy with another name. Both
directions give the same pairs.
"""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping

_INSTALLED = re.compile(r"(?:^|.*/)(?:site|dist)-packages/(?=.)")


def paired_files(
    base: Iterable[str], head: Iterable[str], scripts: tuple[str, str] = ("", "")
) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """For each run: its file names -> the name both have in common, which is HEAD's.

    Equal names are the same file, wherever a package is installed; then the two ``scripts``; then names
    with the longest common end, where that is unambiguous. Other files keep their names.
    """
    old, new = {_installed(f): f for f in sorted(base)}, {_installed(f): f for f in sorted(head)}
    pairs = {key: key for key in old.keys() & new.keys()}
    left = [k for k in old if k not in pairs], [k for k in new if k not in pairs]
    script = _script(left[0], scripts[0]), _script(left[1], scripts[1])
    if script[0] is not None and script[1] is not None:
        pairs[script[0]] = script[1]
    pairs |= _by_ending(
        [k for k in left[0] if k not in pairs], [k for k in left[1] if k not in pairs.values()]
    )
    return {f: pairs.get(k, k) for k, f in old.items()}, {f: k for k, f in new.items()}


def common_name(files: Mapping[str, str], file: str | None) -> str:
    return "?" if file is None else files.get(file, file)


def _installed(file: str) -> str:
    return _INSTALLED.sub("", file, count=1)


def _script(left: list[str], script: str) -> str | None:
    """The one unpaired file that is the program itself."""
    found = [file for file in left if script and posixpath.basename(file) == script]
    return found[0] if len(found) == 1 else None


def _by_ending(base: list[str], head: list[str]) -> dict[str, str]:
    longest = max((file.count("/") + 1 for file in (*base, *head)), default=0)
    pairs: dict[str, str] = {}
    for parts in range(longest, 0, -1):
        ends = _ends(base, parts, pairs.keys()), _ends(head, parts, pairs.values())
        for end in sorted(ends[0].keys() & ends[1].keys()):
            if len(ends[0][end]) == len(ends[1][end]) == 1:
                pairs[ends[0][end][0]] = ends[1][end][0]
    return pairs


def _ends(files: list[str], parts: int, taken: Iterable[str]) -> dict[str, list[str]]:
    used, found = set(taken), defaultdict(list)
    for file in files:
        pieces = file.split("/")
        if file not in used and len(pieces) >= parts:
            found["/".join(pieces[-parts:])].append(file)
    return found
