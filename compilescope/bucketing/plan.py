"""From a ladder and one captured graph: which rungs to compile here, and which are refused and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from compilescope.bucketing._torch import hint_of
from compilescope.bucketing.guards import Violation, admitted_hint, admitted_range, violation
from compilescope.bucketing.identify import BoundName
from compilescope.bucketing.padding.contract import PaddingRefusedError
from compilescope.ladder import BucketLadder, JointRung, LadderProduct, Pad, Pin, Range

Span = tuple[int, int | None]

_ANY = BucketLadder()
LARGEST_INT32 = 2**31 - 1
"""Inductor indexes with 32 bits up to here, and guards on it; beyond, Triton has no grid for a hint."""


@dataclass(frozen=True, slots=True)
class Job:
    """An artifact to make. ``spans`` are for free symbols; ``split_from`` is the range this is a part of.

    ``padded`` are the names whose size may be smaller than that of the rung.
    """

    label: str
    kind: str
    sizes: Mapping[Any, int] = field(default_factory=dict)
    hints: Mapping[Any, int] = field(default_factory=dict)
    spans: Mapping[Any, Span] = field(default_factory=dict)
    split_from: str | None = None
    padded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Refusal:
    """A rung that this graph cannot have."""

    label: str
    kind: str
    reason: str
    violated: Violation | None = None
    at_line: str | None = None

    @property
    def user_line(self) -> str | None:
        return self.at_line if self.violated is None else self.violated.user_line


def plan(
    ladder: LadderProduct,
    names: Mapping[str, BoundName],
    symbols: Iterable[Any],
    shape_env: Any,
    cannot_pad: Mapping[str, PaddingRefusedError] | None = None,
    with_dynamic: bool = True,
) -> list[Job | Refusal]:
    """Pins, pads, then ranges, then the dynamic artifact for the rest. ``symbols`` are all of the graph's."""
    steps: list[Job | Refusal] = []
    for joint in (*ladder.exact(), *ladder.pads()):
        steps += _once(_static(joint, names, shape_env, cannot_pad or {}), steps)
    for joint in ladder.ranges():
        steps += _once(_range(joint, names, shape_env), steps)
    if with_dynamic:
        steps.append(_dynamic(ladder, names, symbols, shape_env))
    return steps


def remainder(job: Job, symbol: Any, valid: Span, shape_env: Any) -> Iterator[Job | Refusal]:
    """The parts of a range that are left when its code turned out ``valid`` for less of ``symbol``."""
    low, high = valid
    asked_low, asked_high = job.spans[symbol]
    parts: list[Span] = []
    if low > asked_low:
        parts.append((asked_low, low - 1))
    if high is not None and (asked_high is None or high < asked_high):
        parts.append((high + 1, asked_high))
    for part in parts:
        if part[0] > LARGEST_INT32:
            yield Refusal(f"{part[0]}..", job.kind, f"no compiler is asked for sizes above {LARGEST_INT32}")
            continue
        wanted = part[1] if part[1] is not None and part[1] < low else part[0]
        hint = admitted_hint(shape_env, [symbol], part, wanted)
        label = f"{part[0]}..{'' if part[1] is None else part[1]}@{hint}"
        origin = job.split_from or job.label
        if hint is None:
            yield Refusal(
                label, job.kind, f"part of {origin}: no size in it is admitted by the trace's guards"
            )
        else:
            yield Job(
                label, job.kind, job.sizes, {**job.hints, symbol: hint}, {**job.spans, symbol: part}, origin
            )


def _once(step: Job | Refusal | None, steps: list[Job | Refusal]) -> list[Job | Refusal]:
    """Rungs that differ only in names this graph does not have are one rung here."""
    return [step] if step is not None and all(step.label != other.label for other in steps) else []


def _static(
    joint: JointRung,
    names: Mapping[str, BoundName],
    shape_env: Any,
    cannot_pad: Mapping[str, PaddingRefusedError],
) -> Job | Refusal | None:
    here = [(name, rung) for name, rung in joint.steps if name in names]
    label = JointRung(tuple(here)).label
    padded = tuple(name for name, rung in here if isinstance(rung, Pad) and names[name].symbols)
    kind = "pad" if padded else "pin"
    sizes: dict[Any, int] = {}
    for name, rung in here:
        assert isinstance(rung, (Pin, Pad))
        bound = names[name]
        if not bound.symbols:
            if bound.static == rung.size:
                continue
            return Refusal(label, kind, _static_reason(name, bound))
        for symbol in bound.symbols:
            if sizes.setdefault(symbol, rung.size) != rung.size:
                return Refusal(
                    label, kind, f"{name} had the same size as another symbol when traced: they are one"
                )
    broken = violation(shape_env, sizes)
    if broken is not None:
        return Refusal(label, kind, "a guard of the trace excludes this size", broken)
    for name in padded:
        if name in cannot_pad:
            refused = cannot_pad[name]
            return Refusal(label, kind, refused.reason, at_line=refused.user_line)
    return Job(label, kind, sizes, padded=padded) if sizes else None


def _range(joint: JointRung, names: Mapping[str, BoundName], shape_env: Any) -> Job | Refusal | None:
    here = [(name, rung) for name, rung in joint.steps if name in names]
    label = JointRung(tuple(here)).label
    hints: dict[Any, int] = {}
    spans: dict[Any, Span] = {}
    for name, rung in here:
        assert isinstance(rung, Range)
        bound = names[name]
        if not bound.symbols:
            if bound.static is not None and rung.low <= bound.static <= rung.high:
                continue
            return Refusal(label, "range", _static_reason(name, bound))
        for symbol in bound.symbols:
            span = admitted_range(shape_env, symbol, *spans.get(symbol, (rung.low, rung.high)))
            if span is None:
                edge = rung.high if rung.high < shape_env.var_to_range[symbol].lower else rung.low
                return Refusal(
                    label, "range", "the trace excludes the range", violation(shape_env, {symbol: edge})
                )
            hint = admitted_hint(shape_env, [symbol], span, rung.hint)
            if hint is None:
                broken = violation(shape_env, {symbol: rung.hint})
                return Refusal(
                    label, "range", "no size near the hint is admitted by the trace's guards", broken
                )
            spans[symbol], hints[symbol] = span, hint
    return Job(label, "range", {}, hints, spans) if spans else None


def _dynamic(
    ladder: LadderProduct, names: Mapping[str, BoundName], symbols: Iterable[Any], shape_env: Any
) -> Job:
    """Tuned at the ladder's middle, not at whatever came first, for the sizes that the ladder declares."""
    owner = {s: each for name, each in ladder.ladders if name in names for s in names[name].symbols}
    wanted = {symbol: each.typical for symbol, each in owner.items() if each.typical is not None}
    hints: dict[Any, int] = {}
    spans: dict[Any, Span] = {}
    for symbol in symbols:
        declared = owner.get(symbol, _ANY)
        span = admitted_range(shape_env, symbol, declared.minimum or 0, declared.maximum)
        traced = hint_of(shape_env, symbol)
        if span is None or traced is None:
            continue
        spans[symbol] = span
        hint = admitted_hint(shape_env, [symbol], span, wanted.get(symbol, traced))
        hints[symbol] = traced if hint is None else hint
    return Job("dynamic", "dynamic", {}, {s: hints[s] for s in wanted if s in hints}, spans)


def _static_reason(name: str, bound: BoundName) -> str:
    if bound.static is None:
        return f"{name} is {bound.where}"
    return f"{name} is {bound.where} == {bound.static} in this graph"
