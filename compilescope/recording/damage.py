"""The list of what could not be read. It never grows with the damage: a gigabyte of junk is 50 entries."""

from __future__ import annotations

from compilescope.recording.format import Damage

_LISTED_PER_KIND = 50


class DamageLog:
    """Keeps the first 50 of a kind and counts the rest; the same damage met twice is one."""

    def __init__(self) -> None:
        self._listed: dict[str, dict[Damage, None]] = {}
        self._more: dict[str, int] = {}

    def add(self, kind: str, source: str, offset: int, detail: str) -> None:
        """``offset`` in bytes into ``source``, the file's name."""
        self.note(Damage(kind, f"{source}:{offset}", detail))

    def note(self, damage: Damage) -> None:
        listed = self._listed.setdefault(damage.kind, {})
        if damage in listed:
            return
        if len(listed) < _LISTED_PER_KIND:
            listed[damage] = None
        else:
            self._more[damage.kind] = self._more.get(damage.kind, 0) + 1

    def absorb(self, other: DamageLog) -> None:
        """Takes over what another log holds."""
        for listed in other._listed.values():
            for damage in listed:
                self.note(damage)
        for kind, more in other._more.items():
            self._more[kind] = self._more.get(kind, 0) + more

    def restart(self) -> None:
        """Forgets the counts of what is not listed: the file is about to be read again."""
        self._more.clear()

    def entries(self) -> list[Damage]:
        out: list[Damage] = []
        for kind, listed in self._listed.items():
            out += listed
            if more := self._more.get(kind):
                out.append(Damage(kind, "", f"and {more} more of this kind"))
        return out

    def __len__(self) -> int:
        return sum(map(len, self._listed.values())) + sum(self._more.values())
