"""Rules for recompiles: rows of one function with one cause are one finding, limit hits included."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from compilescope.advice.bounds import line_of_condition
from compilescope.advice.cause import CALL, Cause, Place, Telling, finding, place_of_recompile
from compilescope.advice.classify import (
    grows_in_cache,
    rule_of,
    subject_of,
    used_again,
)
from compilescope.advice.facts import Facts, Named, Rows
from compilescope.advice.fill import fill
from compilescope.advice.finding import Confidence, Finding, Severity
from compilescope.advice.handed_over import made_inside
from compilescope.advice.pins import fixed_somewhere, pin_of
from compilescope.advice.recompile_diffs import diff_of
from compilescope.advice.recompile_variants import values_for, words_for
from compilescope.analysis.paths import called
from compilescope.analysis.report import Recompile

_MODES = frozenset(("grad_mode_toggle", "autocast_toggle", "train_eval_toggle"))
_ONCE_IS_RIGHT = frozenset(  # torch makes these symbolic by itself, or keeps both versions
    (
        *_MODES,
        "size_drift",
        "last_partial_batch",
        "int_argument_variants",
        "number_in_container",
        "object_int_attribute",
        "float_hyperparameter_python",
        "module_float_attribute",
        "intended_size_variants",
        "flag_argument_variants",
        "optional_argument",
        "requires_grad_change",
        "size_zero_or_one",
        "module_flag_attribute",
        "size_bound_of_torch",
    )
)
# Two values give two versions; a third compile comes from another cause that changed beside them.
_TWO_VALUED = frozenset(
    ("flag_argument_variants", "module_flag_attribute", "optional_argument", "requires_grad_change")
)
_SEVERITY: dict[str, Severity] = {
    "train_eval_toggle": "note",
    "last_partial_batch": "note",
    "intended_size_variants": "note",
    "bucket_ladder_poor_fit": "medium",
    "kv_cache_growth": "medium",
    "rank_divergent_shapes": "high",
}
# Rules over several variables: which of them leads may differ from run to run, so none names the finding.
_SEVERAL = frozenset((*_MODES, "kv_cache_growth", "thread_mixed_modes", "rank_divergent_shapes"))
_IMPLIED_BY = {
    "dispatch_mode_change": _MODES,
    "grad_mode_toggle": frozenset(("train_eval_toggle",)),
    "size_drift": frozenset(("per_layer_parameter_shapes",)),
    "size_used_as_number": frozenset(("per_layer_parameter_shapes",)),
    "size_zero_or_one": frozenset(("per_layer_parameter_shapes",)),
    "container_growth": frozenset(("dict_keys_change",)),
}
_UNSPEC = {
    "module_int_attribute": "torch suggests allow_unspec_int_on_nn_module: the number becomes a symbol after "
    "one recompile, and code that branches on it recompiles again",
    "global_python_state": "allow_unspec_int_on_nn_module does not help here: globals never become symbolic",
}
_MAX_NAMES = 4
Grouped = tuple[str, list[Named[Recompile]]]  # a rule, and the rows that one cause has
_REPEATS = 3  # recompiles of one cause from which it is a habit, not a warm-up


def recompiles(facts: Facts, rows: Rows) -> Iterator[Finding]:
    grouped = _grouped(facts, rows.recompiles)
    for rule, group in sorted(grouped, key=lambda g: -sum(_weight(n.row) for n in g[1])):
        found = finding_of(facts, rows, rule, group)
        rows = rows.without(found.refs)
        yield found


def finding_of(
    facts: Facts, rows: Rows, rule: str, group: Sequence[Named[Recompile]], *, notes: Iterable[str] = ()
) -> Finding:
    """``group`` has one cause. Limits and refusals of its functions go with it."""
    own = [n for n in group if rule_of(facts, n.row) == rule]
    head = min(own or group, key=lambda n: (_is_field_of_cache(facts, n.row), _prominence(n))).row
    cause = Cause(recompiles=tuple(group), limits=rows.limits_of(group), failures=rows.refusals_of(group))
    words = words_for(facts, rule, head)
    values = values_for(facts, head)
    telling = Telling(
        rule=rule,
        fix_kind=words.fix_kind,
        summary=f"{called(head.function)}: {fill(words.summary, values)}",
        fix=fill(words.fix, values),
        subject=rule if rule in _SEVERAL else subject_of(head),
        diff=diff_of(facts.sources, rule, head) if not fixed_somewhere(facts, head) else None,
        confidence=_confidence(facts, rule, head),
        could_be_wrong=words.wrong,
        notes=(*notes, *_notes(rule, cause, head)),
    )
    found = finding(facts, cause, _place(facts, head), telling, _severity(facts, rule, cause))
    return _without_promise(facts, cause, found)


def _is_field_of_cache(facts: Facts, row: Recompile) -> bool:
    """It is filled inside a library; what grows is handed over by the program."""
    return row.kind == "value" and grows_in_cache(facts, row)


def _confidence(facts: Facts, rule: str, head: Recompile) -> Confidence:
    if rule in ("unexplained_recompile", "bucket_ladder_poor_fit"):
        return "low"
    return "medium" if rule == "size_bound_of_torch" or made_inside(facts, head) else "high"


def _place(facts: Facts, head: Recompile) -> Place:
    """A size that a line fixed is told at that line, which may stand in another function, a bound at its
    condition.
    """
    pin = pin_of(facts, head)
    if pin is not None and pin.file is not None:
        file, line = pin.file, pin.line
    elif head.kind == "symbolic_guard" and (found := line_of_condition(facts.sources, head)):
        file, line = head.file, found
    else:
        return place_of_recompile(facts, head)
    return Place(file, line, head.function, facts.sources.line(file, line), head.called_from)


def _without_promise(facts: Facts, cause: Cause, found: Finding) -> Finding:
    """A run that ended while most graphs of the cause had served one call says nothing of further steps."""
    saving = found.saving
    settled = all(used_again(facts, n.row) is not False for n in cause.recompiles)
    if saving is None or saving.per_1000_steps_s != 0.0 or settled or cause.made < _REPEATS:
        return found
    basis = "the recompiles, measured; most of their graphs served one call, so how many follow is unknown"
    return replace(found, saving=replace(saving, per_1000_steps_s=None, basis=basis))


def _prominence(named: Named[Recompile]) -> tuple[int, int, tuple[int, ...], int]:
    """What changed most, then what torch named, then what changed first."""
    row = named.row
    first = min((_numbers(i) for i in row.compile_ids), default=())
    return -_weight(row), -row.named_by_torch, first, row.line


def _numbers(compile_id: str) -> tuple[int, ...]:
    return tuple(int(part) for part in compile_id.lstrip("!").split("/") if part.isdigit())


def _weight(row: Recompile) -> int:
    return row.count + row.blocked_by_limit


def _grouped(facts: Facts, rows: Iterable[Named[Recompile]]) -> list[Grouped]:
    functions: dict[tuple[str, str], list[Named[Recompile]]] = defaultdict(list)
    for named in rows:
        row = (
            named.row
        )  # a cache object is read in files of its own: its rows belong to the function that ran
        in_cache = grows_in_cache(facts, row)
        functions[(row.called_from or "", row.function) if in_cache else _function(facts, row)].append(named)
    return _one_switch(facts, [pair for group in functions.values() for pair in _causes(facts, group)])


def _one_switch(facts: Facts, causes: list[Grouped]) -> list[Grouped]:
    """A function that is called under another mode calls others under it too: one cause, at the caller."""
    kept = causes
    for cause in causes:
        rule, rows = cause
        callers = {_caller(facts, n.row) for n in rows} - _functions(facts, rows)
        home = next(
            (o for o in kept if o[0] == rule and o is not cause and callers <= _functions(facts, o[1])), None
        )
        if rule in _MODES and callers and home:
            home[1].extend(rows)
            kept = [other for other in kept if other is not cause]
    return kept


def _functions(facts: Facts, rows: Iterable[Named[Recompile]]) -> set[tuple[str, str]]:
    return {_function(facts, n.row) for n in rows}


def _caller(facts: Facts, row: Recompile) -> tuple[str, str] | None:
    call = CALL.fullmatch(row.called_from or "")
    return facts.function_key(call["file"], int(call["line"]), call["function"]) if call else None


def _function(facts: Facts, row: Recompile) -> tuple[str, str]:
    return facts.function_key(row.file, row.line, row.function)


def _causes(facts: Facts, group: list[Named[Recompile]]) -> list[Grouped]:
    """Rows of one function: by rule and variable, then those of one rule that moved together."""
    causes: list[Grouped] = []
    keyed = {subject_of(n.row) for n in group if n.row.kind == "dict_keys"}
    for named in sorted(group, key=lambda n: (n.row.kind == "symbolic_guard", n.ref)):
        rule = _rule_in(facts, named, causes)
        if rule == "container_growth" and subject_of(named.row) in keyed:
            rule = "dict_keys_change"  # other keys explain another length
        home = next((c for c in causes if c[0] == rule and _belongs(named, c[1], rule)), None)
        if home:
            home[1].append(named)
        else:
            causes.append((rule, [named]))
    return _without_consequences(causes)


def _rule_in(facts: Facts, named: Named[Recompile], causes: list[Grouped]) -> str:
    """A branch on a number that changes is the same cause as the number. A size is dynamic by then: its
    branch is a cause of its own.
    """
    if named.row.kind == "symbolic_guard" and " dim " not in named.row.source:
        for rule, rows in causes:
            if any(n.row.source == named.row.source for n in rows):
                return rule
    return rule_of(facts, named.row)


def _belongs(named: Named[Recompile], rows: Iterable[Named[Recompile]], rule: str) -> bool:
    ids = {(named.row.process, i) for i in named.row.compile_ids}
    for other in rows:
        together = bool(ids & {(other.row.process, i) for i in other.row.compile_ids})
        if (
            rule in _MODES
            or rule in ("container_growth", "kv_cache_growth")
            or together
            or subject_of(other.row) == subject_of(named.row)
        ):
            return True
    return False


def _without_consequences(
    causes: list[Grouped],
) -> list[Grouped]:
    """Autocast changes dispatch keys too, validation grad mode with eval(), a layer its input's width, and
    other keys the length of a dict: what changed only in the compiles of such a cause belongs to it.
    """
    kept = []
    for rule, rows in causes:
        homes = [c for c in causes if c[0] in _IMPLIED_BY.get(rule, ()) and _goes_with(rule, rows, c[1])]
        if homes:
            homes[0][1].extend(rows)
        else:
            kept.append((rule, rows))
    return kept


def _goes_with(rule: str, rows: Iterable[Named[Recompile]], home: Iterable[Named[Recompile]]) -> bool:
    same = {subject_of(n.row) for n in rows} <= {subject_of(n.row) for n in home}
    return _ids(rows) <= _ids(home) or (rule == "container_growth" and same)


def _ids(rows: Iterable[Named[Recompile]]) -> set[tuple[str, str]]:
    return {(n.row.process, i) for n in rows for i in n.row.compile_ids}


def _severity(facts: Facts, rule: str, cause: Cause) -> Severity:
    refused = any(n.row.blocked_by_limit for n in cause.recompiles)
    if all(n.row.benign for n in cause.recompiles):
        return "note"
    if refused:
        return "high"  # the limit is another cause's too, which carries its cost
    if rule == "size_used_as_number" and all(used_again(facts, n.row) for n in cause.recompiles):
        return "note"  # a ladder: each size has a graph that serves
    if rule in _SEVERITY:
        return _SEVERITY[rule]
    made = cause.of_slowest().made
    if rule in _ONCE_IS_RIGHT and made <= (2 if rule in _TWO_VALUED else 1):
        return "note"
    return "medium" if made >= _REPEATS else "low"


def _notes(rule: str, cause: Cause, head: Recompile) -> Iterator[str]:
    last = next((n.row.last_cause for n in cause.limits if n.row.last_cause), None)
    if last and last.source != head.source:
        yield (
            f"torch's own warning blames {last.source}; {head.source} changed {_weight(head)} times: "
            f"fixing {last.source} alone will not help"
        )
    own = {n.row.source for n in cause.recompiles}
    also = [c.source for n in cause.recompiles for c in n.row.also_failed if c.source not in own]
    if also and rule not in _MODES:
        names = ", ".join(dict.fromkeys(also[:_MAX_NAMES]))
        yield f"changed in the same calls: {names}; fixing one alone leaves those recompiles"
    known = [c.source for n in cause.recompiles for c in n.row.also_changed if c.source not in own]
    if known:
        names = ", ".join(list(dict.fromkeys(known))[:_MAX_NAMES])
        yield f"{names} changed too, to values that an older compile has: that alone compiles nothing anew"
    if rule in _UNSPEC:
        yield _UNSPEC[rule]
    if cause.limits:
        yield "raising the recompile limit only buys more compiles as long as new values keep coming"
    if head.caused_by:
        yield f"the function is one of its own because of the graph break at {head.caused_by}"
