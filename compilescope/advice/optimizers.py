"""A compiled optimizer whose learning rate is a Python float."""

from __future__ import annotations

from collections.abc import Iterator

from compilescope.advice.classify import rule_of
from compilescope.advice.facts import Facts, Rows
from compilescope.advice.finding import Finding
from compilescope.advice.recompiles import finding_of


def optimizer_learning_rate(facts: Facts, rows: Rows) -> Iterator[Finding]:
    """Goes before the breaks: the wrapper's break around the step makes a frame, not this recompile."""
    own = [n for n in rows.recompiles if rule_of(facts, n.row) == "optimizer_lr_float"]
    for function in sorted({(n.row.file, n.row.function) for n in own}):
        group = [n for n in own if (n.row.file, n.row.function) == function]
        found = finding_of(facts, rows, "optimizer_lr_float", group)
        rows = rows.without(found.refs)
        yield found
