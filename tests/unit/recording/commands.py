"""Runs commands on a recording that was tampered with, and says what they may not do."""

from __future__ import annotations

import json
import re
import shutil
import time
import traceback
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

from click import ClickException
from click.testing import CliRunner
from mutations import mutate_folder, mutate_lines, pack_badly

from compilescope.cli._group import group
from compilescope.errors import CompileScopeError

FIXTURES = Path(__file__).parents[3] / "fixtures"
WHOLE = sorted((FIXTURES / "corpus").glob("*/*.zip"))
LOGS = sorted((Path(__file__).parent / "logs").glob("*.log.zst"))
LIMIT_S = 20.0
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_COMMANDS: tuple[tuple[tuple[str, ...], set[int]], ...] = (
    (("summary",), {0}),
    (("summary", "--format", "json"), {0}),
    (("advise",), {0, 1}),
    (("advise", "--format", "json"), {0, 1}),
    (("diff", "--format", "json"), {0, 1}),
    (("diff",), {0, 1}),
    (("report", "-o", "page.html"), {0}),
)


def tamper(seed: int, here: Path) -> tuple[Path, Path]:
    """(the whole one, the one that was tampered with) below ``here``."""
    dice = Random(seed)
    if LOGS and dice.random() < 0.25:
        return _log(dice, here)
    whole = dice.choice(WHOLE)
    root = here / "tampered.compilescope"
    with zipfile.ZipFile(whole) as archive:
        archive.extractall(root)
    _unpack_events(root)
    mutate_folder(root, dice)
    if dice.random() < 0.3:
        pack_badly(root, here / "tampered.zip", dice)
        shutil.rmtree(root)
        return whole, here / "tampered.zip"
    return whole, root


def _unpack_events(root: Path) -> None:
    import zstandard

    for path in root.rglob("events.jsonl.zst"):
        with path.open("rb") as packed:
            path.with_suffix("").write_bytes(zstandard.ZstdDecompressor().stream_reader(packed).read())
        path.unlink()


def _log(dice: Random, here: Path) -> tuple[Path, Path]:
    import zstandard

    whole, tampered = dice.choice(LOGS), here / "tampered.log"
    with whole.open("rb") as packed:
        content = zstandard.ZstdDecompressor().stream_reader(packed).read()
    tampered.write_bytes(mutate_lines(content[:400_000], dice))
    return whole, tampered


def findings(seed: int, here: Path, *, page: bool = True) -> Iterator[str]:
    """What the commands do with the input of this seed and may not, as sentences."""
    inner = here / "a" / "b"  # what climbs out of it is still seen
    inner.mkdir(parents=True)
    whole, tampered = tamper(seed, inner)
    before = _tree(here)
    for words, statuses in _COMMANDS[: None if page else -1]:
        paths = [str(whole), str(tampered)] if words[0] == "diff" else [str(tampered)]
        options = [str(here / word) if word.endswith(".html") else word for word in words[1:]]
        yield from _one(" ".join(words), [words[0], *paths, *options], statuses)
    html = here / "page.html"
    if html.exists():
        text = html.read_text(encoding="utf-8")
        if "<script>canary" in text or _CONTROL.search(text):
            yield "report: hostile text reached the page"
        html.unlink()
    if _tree(here) != before:
        yield f"written where nothing was asked for: {_tree(here) ^ before}"


def _one(name: str, words: Sequence[str], statuses: set[int]) -> Iterator[str]:
    start_s = time.process_time()
    result = CliRunner().invoke(group, list(words), standalone_mode=False, prog_name="compilescope")
    took_s, error = time.process_time() - start_s, result.exception
    said = result.stdout
    if isinstance(error, CompileScopeError | ClickException):
        said += str(error)
    elif error is not None:
        yield f"{name}: " + "".join(traceback.format_exception(error)[-6:])
    elif (result.return_value or 0) not in statuses:
        yield f"{name}: status {result.return_value}"
    elif name.endswith("json"):
        json.loads(result.stdout, parse_constant=_refuse)
    if found := _CONTROL.search(said):
        yield f"{name}: {found[0]!r} reached the terminal: {said[max(found.start() - 80, 0) : found.end()]!r}"
    if took_s > LIMIT_S:
        yield f"{name}: took {took_s:.0f} CPU-s"


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def _tree(here: Path) -> frozenset[str]:
    outside = {str(path) for path in (Path("/tmp/canary"), Path("/canary")) if path.exists()}
    return frozenset({str(path.relative_to(here)) for path in here.rglob("*")} | outside)
