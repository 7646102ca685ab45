"""Which artifact serves a call: exact, then padded, range, dynamic, eager. Never an assertion.

The function is generated, because a call through it should cost a dictionary look-up and an increment.
Increments are plain ``counts[key] += 1``: CPython switches threads only between calls and at backward jumps,
so none is lost under the GIL.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from compilescope.bucketing.census import Flag
from compilescope.bucketing.inner import Artifact, boxed_form

DISTINCT_SIZES = 4096
"""Sizes counted one by one for each artifact; calls at further ones are counted together under ``OTHER``."""

OTHER = "other sizes"

SizeCounts = dict[Any, int]

_Choice = tuple[Any, Artifact | None, SizeCounts, Any]
"""What a call may be padded to: condition on ``a``, artifact, its counters, the key to count under."""

_NOTHING: _Choice = (None, None, {}, None)


@dataclass(slots=True)
class Served:
    """An artifact and its calls by size. ``predicate`` is Python over the arguments ``a``; empty: always."""

    rung: str
    outcome: str
    artifact: Artifact
    predicate: tuple[str, ...] = ()
    counts: SizeCounts = field(default_factory=dict)


@dataclass(slots=True)
class PadRung:
    """A rung that smaller sizes are padded up to. ``bounds`` has a limit for each symbol that is padded, the
    ``exact`` size of each that is not, None for one that is free.

    ``check``, while it is set, serves a call instead and sees whether the padded artifact may.
    """

    served: Served
    bounds: tuple[int | None, ...]
    exact: tuple[int | None, ...]
    check: Artifact | None = None

    def holds(self, sizes: Sequence[int]) -> bool:
        return all(
            (most is None or size <= most) and (only is None or size == only)
            for size, most, only in zip(sizes, self.bounds, self.exact, strict=True)
        )


_SEEN = "    flag.served = True"
_UNARMED = [_SEEN, "    return unarmed(*a)"]


class Dispatch:
    """The callable given to Dynamo, and its counters.

    ``symbols`` is the Python that reads each bucketed symbol from the arguments ``a``; a key is the tuple of
    their values, or the value itself when there is one. Until :meth:`arm` every call goes to ``unarmed``.
    ``flag`` is set by each call.
    """

    def __init__(
        self,
        symbols: Sequence[str],
        fallback: Served,
        unarmed: Callable[..., Any],
        flag: Flag | None = None,
    ) -> None:
        self._symbols = tuple(symbols)
        self._fallback = fallback
        self._pins: dict[Any, Artifact] = {}
        self._boxed: dict[Any, Callable[[list[Any]], Any]] = {}
        self._hits: SizeCounts = {}
        self._labels: dict[Any, str] = {}
        self._choices: dict[tuple[int, ...], dict[Any, tuple[Any, Artifact, SizeCounts]]] = {}
        self._conditional: list[Served] = []
        self._pads: list[PadRung] = []
        self._padded: dict[Any, _Choice] = {}
        self._steps: list[Served] = []
        self._scope: dict[str, Any] = {
            "math": math,
            "torch": torch,
            "flag": flag or Flag(),
            "unarmed": unarmed,
            "pins": self._pins,
            "boxed": self._boxed,
            "hits": self._hits,
            "admit": _admit,
            "padded": self._padded,
            "choose": self._choose,
        }
        self._read = eval(f"lambda a: ({''.join(f'{symbol}, ' for symbol in symbols)})", self._scope)
        self._unarmed_code = self._define(_UNARMED).__code__
        self.armed = self._define(_UNARMED)
        self.function = self._define(_UNARMED)

    def add_pin(self, sizes: Sequence[int | None], served: Served) -> None:
        """Serve calls whose symbols equal ``sizes``; a None leaves that symbol free."""
        fixed = tuple(position for position, size in enumerate(sizes) if size is not None)
        key = _key([size for size in sizes if size is not None])
        if len(fixed) == len(self._symbols) and not served.predicate:
            self._hits.setdefault(key, 0)
            self._labels[key] = served.rung
            boxed = boxed_form(served.artifact)
            if boxed is None:
                self._pins[key] = served.artifact
            else:
                self._boxed[key] = boxed
            return
        self._conditional.append(served)
        holds = self._condition(served.predicate) if served.predicate else None
        self._choices.setdefault(fixed, {})[key] = (holds, served.artifact, served.counts)

    def add_pad(self, rung: PadRung) -> None:
        """Serve calls that the rung holds and nothing smaller does; pads come smallest first."""
        self._pads.append(rung)

    def sizes(self, arguments: tuple[Any, ...]) -> tuple[int, ...]:
        """The symbols' values in a call."""
        return tuple(self._read(arguments))

    def padding(self, sizes: Sequence[int]) -> PadRung | None:
        """The smallest pad that holds ``sizes``."""
        return next((rung for rung in self._pads if rung.holds(sizes)), None)

    def pads_changed(self) -> None:
        """A check has passed: look again which pad serves a size."""
        self._padded.clear()

    def drop_pad(self, rung: PadRung) -> None:
        """Serve no further call by ``rung``; two threads may have found that at once."""
        self._pads[:] = [each for each in self._pads if each is not rung]
        self._padded.clear()

    def add_step(self, served: Served) -> None:
        """Append to the chain between the exact look-ups and the fallback."""
        self._steps.append(served)

    def prepare(self) -> None:
        """Make ``armed`` serve with what has been added so far; ``function`` goes on as it did."""
        self.armed = self._define(self._body())

    def arm(self) -> None:
        """Serve calls, from the next one on, with what has been added so far."""
        self.prepare()
        # Dynamo holds the function object: its code is what can be exchanged, in one atomic store.
        self.function.__code__ = self.armed.__code__

    def disarm(self) -> None:
        """Send calls to ``unarmed`` again; ``armed`` still serves."""
        self.function.__code__ = self._unarmed_code

    def counted(self) -> Iterator[tuple[str, str, Any, int]]:
        """(rung, outcome, key, calls so far) for everything that was called; the key may be ``OTHER``."""
        for key, count in list(self._hits.items()):
            yield self._labels[key], "exact", key, count
        pads = [rung.served for rung in self._pads]
        for served in (*self._conditional, *pads, *self._steps, self._fallback):
            for key, count in list(served.counts.items()):
                yield served.rung, served.outcome, key, count

    def values(self, key: Any) -> tuple[int, ...] | None:
        """The symbols' values of a key of :meth:`counted`; None for ``OTHER``."""
        if key is OTHER:
            return None
        return key if isinstance(key, tuple) else (key,)

    def _body(self) -> list[str]:
        lines = [_SEEN, f"    k = {self._key_source(range(len(self._symbols)))}"]
        if self._boxed:
            lines += [
                "    rung = boxed.get(k)",
                "    if rung is not None:",
                "        hits[k] += 1",
                "        return rung([*a])",
            ]
        if self._pins:
            lines += [
                "    rung = pins.get(k)",
                "    if rung is not None:",
                "        hits[k] += 1",
                "        return rung(*a)",
            ]
        for number, fixed in enumerate(sorted(self._choices, key=len, reverse=True)):
            lines += self._choice_lines(number, fixed)
        if self._pads:
            lines += [
                "    rung = padded.get(k) or choose(k)",
                "    artifact = rung[1]",
                "    if artifact is not None and (rung[0] is None or rung[0](a)):",
                "        rung[2][rung[3]] += 1",
                "        return artifact(*a)",
            ]
        for number, served in enumerate((*self._steps, self._fallback)):
            lines += self._step_lines(number, served)
        return lines

    def _choice_lines(self, number: int, fixed: tuple[int, ...]) -> list[str]:
        self._scope[f"choices_{number}"] = self._choices[fixed]
        return [
            f"    choice = choices_{number}.get({self._key_source(fixed)})",
            "    if choice is not None and (choice[0] is None or choice[0](a)):",
            "        counts = choice[2]",
            "        counts[k if k in counts else admit(counts, k)] += 1",
            "        return choice[1](*a)",
        ]

    def _step_lines(self, number: int, served: Served) -> list[str]:
        boxed = boxed_form(served.artifact)
        self._scope[f"step_{number}"] = served.artifact if boxed is None else boxed
        self._scope[f"counts_{number}"] = served.counts
        test = " and ".join(f"({term})" for term in served.predicate) or "True"
        return [
            f"    if {test}:",
            f"        counts_{number}[k if k in counts_{number} else admit(counts_{number}, k)] += 1",
            f"        return step_{number}({'*a' if boxed is None else '[*a]'})",
        ]

    def _choose(self, key: Any) -> _Choice:
        """The pad that serves a key, its condition and its counter; remembered for the next call."""
        rung = self.padding(self.values(key) or ())
        if rung is None:
            chosen = _NOTHING
        else:
            holds = self._condition(rung.served.predicate) if rung.served.predicate else None
            artifact = rung.served.artifact if rung.check is None else rung.check
            counts = rung.served.counts if rung.check is None else self._fallback.counts
            chosen = (holds, artifact, counts, _admit(counts, key))
        if len(self._padded) < DISTINCT_SIZES:
            self._padded[key] = chosen
        return chosen

    def _key_source(self, positions: Sequence[int]) -> str:
        symbols = [self._symbols[position] for position in positions]
        return symbols[0] if len(symbols) == 1 else f"({', '.join(symbols)})"

    def _condition(self, predicate: Sequence[str]) -> Any:
        return eval("lambda a: " + " and ".join(f"({term})" for term in predicate), self._scope)

    def _define(self, body: list[str]) -> Any:
        local: dict[str, Any] = {}
        exec("def dispatch(*a):\n" + "\n".join(body), self._scope, local)
        return local["dispatch"]


def _key(sizes: Sequence[int]) -> Any:
    return sizes[0] if len(sizes) == 1 else tuple(sizes)


def _admit(counts: SizeCounts, key: Any) -> Any:
    admitted = key if key in counts or len(counts) < DISTINCT_SIZES else OTHER
    counts.setdefault(admitted, 0)
    return admitted
