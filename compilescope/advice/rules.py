"""All rules over one report: each explains what it can, the next one sees what is left."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from compilescope.advice.assemblers import candidates_compiled_twice
from compilescope.advice.autograd import recaptured_backward
from compilescope.advice.autotune import autotuning
from compilescope.advice.blocks import repeated_blocks
from compilescope.advice.buckets import buckets
from compilescope.advice.caches import cache_misses
from compilescope.advice.cudagraphs import cuda_graphs
from compilescope.advice.custom_ops import custom_ops
from compilescope.advice.facts import CompileKey, Facts, Rows, rows_of
from compilescope.advice.failures import failures
from compilescope.advice.finding import RUNS_EAGER, SEVERITIES, Finding
from compilescope.advice.graph_breaks import graph_breaks
from compilescope.advice.guards import heavy_guards
from compilescope.advice.limits import unexplained_limits
from compilescope.advice.op_check import OpCheck
from compilescope.advice.optimizers import optimizer_learning_rate
from compilescope.advice.recompiles import recompiles
from compilescope.advice.sources import Sources
from compilescope.advice.together import (
    cache_growth,
    compiled_while_waiting,
    diverging_ranks,
    mixed_threads,
    shared_wrapper,
)
from compilescope.analysis.report import Report

Rule = Callable[[Facts, Rows], Iterator[Finding]]

# The particular before the general: a rule takes rows away from those after it.
RULES: tuple[Rule, ...] = (
    diverging_ranks,
    compiled_while_waiting,
    shared_wrapper,
    mixed_threads,
    cache_growth,
    optimizer_learning_rate,
    graph_breaks,
    recompiles,
    failures,
    unexplained_limits,
    recaptured_backward,
    heavy_guards,
    repeated_blocks,
    cache_misses,
    cuda_graphs,
    buckets,
    autotuning,
    candidates_compiled_twice,
    custom_ops,
)

# Only to order findings of one severity: a call that leaves compiled code costs at least about this much.
_EXECUTION_S = 1e-4


def advise(
    report: Report,
    sources: Mapping[str, str] | None = None,
    *,
    guards: Mapping[CompileKey, int] | None = None,
    threads: Mapping[CompileKey, str] | None = None,
    warnings: Sequence[str] = (),
    op_checks: Sequence[OpCheck] = (),
) -> list[Finding]:
    """Findings, what to fix first at the top. Pure: the same report gives the same list.

    ``sources`` maps file names as the report writes them to their text; without it findings are less
    particular and have no diff. ``guards`` and ``threads`` are per (process, compile id), ``warnings`` are
    what torch logged, ``op_checks`` what a trial found out about custom operators.
    """
    facts = Facts(report, Sources(sources), guards or {}, threads or {}, warnings, op_checks)
    rows = rows_of(report)
    found: list[Finding] = []
    for rule in RULES:
        new = list(rule(facts, rows))
        rows = rows.without(ref for finding in new for ref in finding.refs)
        found += new
    return _distinct(sorted(found, key=rank))


def _distinct(found: list[Finding]) -> list[Finding]:
    """Two causes that read the same get a number, in order of their lines: a baseline keeps them apart."""
    alike: dict[str, list[int]] = {}
    for at, finding in enumerate(found):
        alike.setdefault(finding.identity, []).append(at)
    distinct = list(found)
    for places in alike.values():
        ordered = sorted(places, key=lambda at: (found[at].line or 0, at))
        for number, at in enumerate(ordered if len(ordered) > 1 else (), 1):
            distinct[at] = replace(found[at], identity=f"{found[at].identity}|{number}")
    return distinct


def rank(finding: Finding) -> tuple[int, bool, float, str, int, str]:
    """Severity, then what leaves a whole function to the interpreter, then seconds this run lost (where
    unknown: counted executions at a nominal price).
    """
    saved = finding.saving.seconds if finding.saving else None
    price = (saved or 0.0) + finding.executions * _EXECUTION_S
    return (
        SEVERITIES.index(finding.severity),
        RUNS_EAGER not in finding.evidence.notes,
        -price,
        finding.file or "",
        finding.line or 0,
        finding.identity,
    )
