"""Rules for graph breaks: sites of one function that one change removes are one finding."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from compilescope.advice.break_words import SIDE_EFFECT, TENSOR, WORDS
from compilescope.advice.byproducts import byproducts, grown_container
from compilescope.advice.cause import Cause, Place, Telling, finding, place_of_break, worse
from compilescope.advice.diff import unified
from compilescope.advice.facts import Facts, Named, Rows
from compilescope.advice.finding import RUNS_EAGER, Finding, Severity
from compilescope.advice.hints import check_hint, switch_in
from compilescope.advice.hooks import is_hook
from compilescope.advice.library import debug_switch, is_foreign, is_installed, is_standard, library_fix
from compilescope.advice.rewrites import edit_of
from compilescope.advice.whole_graph import held_open, whole_graph
from compilescope.analysis.paths import called
from compilescope.analysis.report import GraphBreak

_HOT = 100  # executions from which a split costs more than its compile
_COLD = 10  # a break that runs this many times less than the hottest one can wait
_NOT_IN_PLACE = frozenset(("hook_reads_scalar", "library_debug_code", "break_in_library"))
# The cause is the call that the program makes, though the line that breaks is in the library called.
_WHOEVER_CALLS = frozenset(("optimizer_step", "copy_of_tensor", "recurrent_layer"))
_DELIBERATE = frozenset(("compiler_disabled_call", "explicit_graph_break"))


def graph_breaks(facts: Facts, rows: Rows) -> Iterator[Finding]:
    groups: dict[tuple[str, ...], list[Named[GraphBreak]]] = defaultdict(list)
    for named in rows.breaks:
        row = named.row
        rule = _rule(facts, row)
        place = facts.function_key(row.file, row.line, row.function)
        groups[(*place, WORDS[rule].fix_kind, "" if _merges(rule) else rule)].append(named)
    changes = Counter(key[:2] for key in groups)
    for key, group in groups.items():
        ordered = sorted(group, key=lambda n: (n.row.line, n.ref))
        found = _finding(facts, rows, ordered, changes=changes[key[:2]])
        rows = rows.without(found.refs)
        yield found


def _merges(rule: str) -> bool:
    return WORDS[rule].fix_kind in (SIDE_EFFECT, TENSOR)


def _rule(facts: Facts, row: GraphBreak) -> str:
    causes = [cause for cause in row.causes if cause in WORDS] or ["unsupported"]
    if "backward_data_dependent_branch" in causes:
        return "backward_data_dependent_branch"
    slug = causes[0]
    if slug in _WHOEVER_CALLS:
        return slug
    if WORDS[slug].fix_kind == SIDE_EFFECT and _called_directly(row):
        return slug
    if row.library:
        return "break_in_library"
    if WORDS[slug].fix_kind == SIDE_EFFECT and is_foreign(facts, row):
        return "library_debug_code"
    if slug == "scalar_read" and is_hook(facts.sources, row.function):
        return "hook_reads_scalar"
    return slug


def _finding(facts: Facts, rows: Rows, group: Sequence[Named[GraphBreak]], *, changes: int) -> Finding:
    """``changes``: kinds of change that the function needs before it can be one graph."""
    recompiles = byproducts(facts, rows.recompiles, [n.row for n in group])
    cause = Cause(
        breaks=tuple(group),
        recompiles=recompiles,
        limits=rows.limits_of(recompiles),
        failures=rows.refusals_of(recompiles),
    )
    rule = _rule_of_group(facts, group)
    row = group[0].row
    foreign = rule == "break_in_library" or (row.library and rule not in _NOT_IN_PLACE)
    place = _callers_place(facts, row) if foreign else None
    place = place or place_of_break(row)
    telling = _telling(facts, rule, place, cause)
    if changes > 1:
        more = f"one of {changes} changes that {called(place.function)} needs before it can be one graph"
        telling = replace(telling, notes=(*telling.notes, more))
    return finding(facts, cause, place, telling, _severity(facts, rule, cause))


def _called_directly(row: GraphBreak) -> bool:
    """``log.info()`` behind a break is compiled as a function of its own: the call is the program's."""
    caller = row.call_path[-2] if len(row.call_path) > 1 else None
    return caller is not None and not is_installed(caller) and is_standard(row.file)


def _rule_of_group(facts: Facts, group: Sequence[Named[GraphBreak]]) -> str:
    rules = dict.fromkeys(_rule(facts, n.row) for n in group)
    if {"scalar_read", "data_dependent_branch"} <= set(rules):
        return "scalar_read_and_data_dependent_branch"
    return next(iter(rules))


def _telling(facts: Facts, rule: str, place: Place, cause: Cause) -> Telling:
    words = WORDS[rule]
    first = cause.breaks[0].row
    grows = grown_container(cause.recompiles)
    hints = [check_hint(facts.sources, n.row, grows=grows) for n in cause.breaks]
    notes = [*dict.fromkeys(h for h in hints if h), *_effects(cause), *held_open(facts, cause)]
    notes += whole_graph(facts, [n.row for n in cause.breaks])
    setting = switch_in(first.hint)
    summary = f"{called(place.function)}: {_plain(rule, first)}"
    fix = library_fix(first) or words.fix if rule == "break_in_library" else words.fix
    if setting and _is_general(rule):
        fix = f"torch's hint: set {setting} before the first call; else {fix}"
    elif setting and not hints[0] and setting not in fix:
        notes.append(f"torch's own hint: set {setting}")
    switch = debug_switch(facts, first) if rule == "library_debug_code" else None
    if switch:
        fix = f"set {switch} to a false value before compiling"
    if rule == "hook_reads_scalar" and grows:
        fix += f"; {grows} then holds no numbers that are guarded"
    edits = [edit for n in cause.breaks if (edit := edit_of(facts.sources, n.row))]
    has_diff = bool(edits) and rule not in _NOT_IN_PLACE
    if has_diff and len(edits) < len(cause.breaks):
        notes.append(f"the diff changes {len(edits)} of {len(cause.breaks)} lines: the others need a person")
    return Telling(
        rule=rule,
        fix_kind=words.fix_kind,
        summary=summary,
        fix=fix,
        subject=first.causes[0] if first.causes else rule,
        diff=unified(facts.sources, place.file, edits) if has_diff else None,
        confidence="medium" if rule in ("unsupported", "break_in_library") else "high",
        could_be_wrong=words.wrong,
        notes=tuple(notes),
    )


def _is_general(rule: str) -> bool:
    """Whether the rule's words say only that Dynamo does not trace something."""
    return rule == "break_in_library" or rule.startswith(("unsupported", "skipped"))


def _plain(rule: str, row: GraphBreak) -> str:
    """The particular where torch names it, else the rule's own words."""
    if rule.startswith(("unsupported", "skipped")) and row.reason:
        return row.reason
    if rule == "break_in_library":
        return f"{WORDS[rule].summary}: {row.reason}"
    return WORDS[rule].summary


def _effects(cause: Cause) -> Iterator[str]:
    resume = {r for n in cause.breaks for r in n.row.resume}
    if "frame_skipped" in resume:
        yield RUNS_EAGER
    if "tail_skipped" in resume:
        yield "everything after the line runs eager"
    if cause.recompiles:
        yield "the recompiles below come from this line: they go with the break"
    path = cause.breaks[0].row.call_path
    if len(path) > 2:
        yield "reached by " + " > ".join(path[-4:])


def _callers_place(facts: Facts, row: GraphBreak) -> Place | None:
    """The last line of the program's own on the way to a library's."""
    for entry in reversed(row.call_path):
        where, _, function = entry.rpartition(" ")
        file, _, line = where.rpartition(":")
        if line.isdigit() and not is_installed(file):
            return Place(file, int(line), function, facts.sources.line(file, int(line)))
    return None


def _severity(facts: Facts, rule: str, cause: Cause) -> Severity:
    if facts.compiles_nothing and any(n.row is facts.first_break for n in cause.breaks):
        return "critical"  # nothing of the program is compiled, and it begins here
    if rule == "optimizer_step" or (rule == "backward_in_region" and facts.uses_compiled_autograd):
        return "note"
    skipped = any(r != "resumable" for n in cause.breaks for r in n.row.resume)
    hits = cause.executed
    if (rule == "break_in_library" and not skipped) or rule in _DELIBERATE:
        return "low" if cause.recompiles or (hits or 0) >= _HOT else "note"
    severity: Severity = "medium"
    if hits is not None and (hits <= 1 or hits * _COLD <= facts.hottest_break):
        severity = "low"
    if skipped or cause.recompiles or (hits or 0) >= _HOT or rule.startswith("backward_data"):
        severity = worse(severity, "high")
    return severity
