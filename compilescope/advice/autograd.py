"""Compiled autograd that captures the backward of one call again and again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from compilescope.advice.cause import with_cost
from compilescope.advice.facts import Facts, Rows
from compilescope.advice.finding import Amount, Finding, Saving
from compilescope.advice.of_frame import of_frame, with_saving
from compilescope.analysis.report import Frame


def recaptured_backward(facts: Facts, _rows: Rows) -> Iterator[Finding]:
    """Compiled autograd captured the backward of one call more than once: no log calls that a recompile."""
    frames: dict[tuple[str, int, str, str], list[Frame]] = defaultdict(list)
    for frame in facts.report.frames:
        if any(i.startswith("!") for i in frame.compile_ids) and frame.graphs:
            frames[(frame.file, frame.line, frame.function, frame.process)].append(frame)
    for group in frames.values():
        captures = {i.split("/", 1)[0] for f in group for i in f.compile_ids if i.startswith("!")}
        if len(captures) < 2:
            continue
        spent = sum(f.compile_s or 0.0 for f in group[1:])
        resets = any("zero_grad" in (facts.sources.text(file) or "") for file in facts.sources.files())
        found = of_frame(
            facts,
            group[0],
            "compiled_autograd_recapture",
            "zero_grad_in_place",
            f"the backward was captured {len(captures)} times by compiled autograd",
            "keep gradients tensors: preallocate p.grad, and zero_grad(set_to_none=False)",
            "other things recapture too: new hooks, other shapes, another graph of autograd nodes",
            severity="low",
            confidence="high" if resets else "medium",
            ids=tuple(i for f in group for i in f.compile_ids),
        )
        cost = {
            "captures": Amount(
                len(captures), "counted", "ids of compiled autograd: " + ", ".join(sorted(captures))
            ),
            "compile_s": Amount(round(spent, 6), "measured", "compiles after the first capture"),
        }
        yield with_saving(
            with_cost(found, cost), Saving(round(spent, 6), None, "captures after the first, measured")
        )
