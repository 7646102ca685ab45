"""Texts without a user's words: what is not in a list of public words becomes a placeholder."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

_UNIT = re.compile(r"[^\W\d]\w*")
_QUOTED = re.compile(r"(?<!\w)(['\"])((?:(?!\1)[^\n]){1,400})\1(?!\w)")
# Names that torch numbers: symbols, buffers, inputs of graphs.
_NUMBERED = re.compile(r"(?:s|u|z|f|zf|buf|primals_|tangents_|arg|op|getitem_)\d+(?:_\d+)?")
_KERNEL = re.compile(r"(?:triton|cpp|extern|mps)_\w+")
_LITERALS = frozenset({"self", "cpu", "cuda", "float32", "float16", "bfloat16", "int64", "int32", "bool"})
_TRACED = re.compile(
    r"(File \"[^\"\n]*\", line \d+[^\n]*\n)[^\n]+"
)  # below it: a line of source, and its carets
_SHORTEST_CODE = 6
HIDDEN = "(source left out)"
_PATH = re.compile(
    r"(?<![\w/.])(?:(?:~|\.{1,2})?(?:/[\w.@+-]+)+|[\w@+-][\w.@+-]*(?:/[\w.@+-]+)*\.(?:py|pyx|so|ipynb|json|txt|cpp|cu|yaml)\b)"
)
_EXTENSION = re.compile(r"\.(py|pyx|ipynb|so|json|txt)$")


@cache
def public_words() -> frozenset[str]:
    text = (Path(__file__).parent / "public_words.txt").read_text(encoding="ascii")
    return frozenset(text.split())


def is_public(unit: str) -> bool:
    words = public_words()
    if unit in words or (unit.lower() in words and unit[1:].islower()) or _NUMBERED.fullmatch(unit):
        return True
    parts = unit.split("_")
    return bool(_KERNEL.fullmatch(unit)) and all(not p or p.isdigit() or p in words for p in parts)


class Placeholders:
    """Equal originals get equal placeholders, numbered in order of appearance within their kind."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], str] = {}
        self._counts: dict[str, int] = {}
        self._whole: dict[str, str] = {}
        self._pattern: re.Pattern[str] | None = None

    def of(self, kind: str, original: str, suffix: str = "") -> str:
        key = (kind, original)
        if key not in self._known:
            self._counts[kind] = self._counts.get(kind, 0) + 1
            self._known[key] = f"{kind}{self._counts[kind]}{suffix}"
        return self._known[key]

    def file(self, path: str) -> str:
        found = _EXTENSION.search(path)
        return self.of("file", path, found.group() if found else "")

    def function(self, name: str) -> str:
        return name if name in ("<module>", "<lambda>", "<listcomp>") else self.of("function", name)

    def learn(self, files: Iterable[str], functions: Iterable[str], code: Iterable[str]) -> None:
        """Texts name these as well: there they get the placeholder of the structured fact."""
        for line in sorted({line.strip() for lines in code for line in lines.splitlines()}):
            if len(line) >= _SHORTEST_CODE:
                self._whole[line] = HIDDEN
        for path in sorted(set(files)):
            self._whole[path] = self.file(path)
            self._whole.setdefault(path.rsplit("/", 1)[-1], self.file(path))
        for name in sorted(set(functions)):
            if not all(is_public(part) for part in name.split(".")):
                self._whole[name] = self.function(name)
        self._whole.pop("", None)
        longest_first = sorted(self._whole, key=lambda text: (-len(text), text))
        if longest_first:
            self._pattern = re.compile(rf"(?<![\w/.])(?:{'|'.join(map(re.escape, longest_first))})(?![\w/])")

    def text(self, original: str) -> str:
        """Any text: known files and functions, then quoted values, then every word that is not public."""
        kept: list[str] = []

        def keep(placeholder: str) -> str:
            kept.append(placeholder)
            return f"\0{len(kept) - 1}\0"

        text = _TRACED.sub(lambda found: f"{found[1]}    {HIDDEN}", original.replace("\0", ""))
        if self._pattern is not None:
            text = self._pattern.sub(lambda found: keep(self._whole[found.group()]), text)
        text = _PATH.sub(lambda found: keep(self.file(found.group())), text)
        text = _QUOTED.sub(lambda found: self._quoted(found, keep), text)
        text = text.replace(HIDDEN, keep(HIDDEN))
        text = _UNIT.sub(lambda found: self._unit(found.group()), text)
        return re.sub(r"\0(\d+)\0", lambda found: kept[int(found[1])], text)

    def _quoted(self, found: re.Match[str], keep: object) -> str:
        quote, inside = found[1], found[2]
        if "\0" in inside or inside.removeprefix("torch.") in _LITERALS:
            return found.group()
        assert callable(keep)
        return f"{quote}{keep(self.of('text', inside))}{quote}"

    def _unit(self, unit: str) -> str:
        return unit if is_public(unit) else self.of("name", unit)
