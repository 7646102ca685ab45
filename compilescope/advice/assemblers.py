"""Candidates of autotuning that are compiled twice, because two programs assemble the code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compilescope.advice.cause import Cause, Place, Telling, finding, raised_by, with_cost
from compilescope.advice.facts import Facts, Rows
from compilescope.advice.finding import Amount, Finding, Saving
from compilescope.advice.of_frame import with_saving
from compilescope.analysis.paths import called
from compilescope.analysis.report import CompiledTwice
from compilescope.units import count

_WORTH_S = 1.0
# To load a candidate from the cache took 5 ms on an H200, to compile one 0.3 to 1.3 s.
_COMPILED_S = 0.05
_COMMAND = (
    "export TRITON_PTXAS_PATH=\"$(python -c 'import pathlib, torch; "
    'print(pathlib.Path(torch.__file__).parent / "bin" / "ptxas")\')"'
)


def candidates_compiled_twice(facts: Facts, _rows: Rows) -> Iterator[Finding]:
    """One finding a program, at the function that lost most: the cause is the installation, not the code.

    Ranks run side by side: the seconds are those of the process that lost most.
    """
    by_process: dict[str, list[CompiledTwice]] = {}
    for row in facts.report.compiled_twice:
        if row.compile_s < _COMPILED_S * row.candidates:
            continue
        by_process.setdefault(row.process, []).append(row)
    most = max(by_process.values(), key=_spent, default=[])
    if _spent(most) >= _WORTH_S:
        yield _finding(facts, most, len(by_process))


def _finding(facts: Facts, rows: Sequence[CompiledTwice], processes: int) -> Finding:
    spent, compiled = _spent(rows), sum(row.candidates for row in rows)
    first = rows[0]
    told = f"compile workers take torch's ptxas (CUDA {first.workers}), the process Triton's ({first.own})"
    where = f"{called(first.function)}: " if first.function else ""
    telling = Telling(
        rule="candidates_compiled_twice",
        fix_kind="same_assembler",
        summary=f"{where}{count(compiled, 'candidate')} of autotuning compiled twice: {told}",
        fix="name torch's ptxas for both in TRITON_PTXAS_PATH, before the program starts",
        command=_COMMAND,
        subject="ptxas",
        could_be_wrong="what the workers made may also have been lost from Triton's cache in between",
        notes=(*(_note(row) for row in rows[:4]), *_elsewhere(processes)),
    )
    code = facts.sources.line(first.file, first.line) if first.file and first.line else None
    place = Place(first.file, first.line, first.function, code)
    found = finding(facts, Cause(), place, telling, raised_by(facts, spent, "low"))
    cost = {
        "compile_s": Amount(round(spent, 6), "measured", "compiles of candidates while they were timed"),
        "candidates": Amount(compiled, "counted", "candidates compiled by the process itself"),
    }
    saving = Saving(round(spent, 6), 0.0, "measured; to load them from Triton's cache takes a little of it")
    return with_saving(with_cost(found, cost), saving)


def _spent(rows: Sequence[CompiledTwice]) -> float:
    return sum(row.compile_s for row in rows)


def _note(row: CompiledTwice) -> str:
    where = called(row.function) if row.function else "a function that is not known"
    return f"{where}: {count(row.operations, 'operation')}, {row.compile_s:.1f} s"


def _elsewhere(processes: int) -> tuple[str, ...]:
    return (f"the same in {processes} processes; the seconds are of the slowest",) if processes > 1 else ()
