"""Rules about compiling itself: guards, repeated blocks, caches, backwards captured again, bare limits."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from compilescope.advice.cause import Cause, Place, Telling, finding, with_cost
from compilescope.advice.facts import Facts, Rows
from compilescope.advice.finding import Amount, Finding, Saving, Severity
from compilescope.advice.sources import called_name, calls_in, names_in
from compilescope.analysis.report import Frame, Graph

_MANY_GUARDS, _GUARDS_PER_OP = 1000, 3.0
_GUARD_US = 0.04  # one guard of a warm check on a desktop core; an order of magnitude, not a measurement
_BLOCKS, _BLOCK_COMPILE_S, _LONG_COMPILE_S = 4, 20.0, 60.0
_LAYER = re.compile(r"_modules\['(\d+)'\](.*)")
_VARYING = re.compile(
    r"^(?:time\.|random\.|uuid\.|os\.(?:getpid|urandom|times)|secrets\.|datetime\.)|\.now$|\.today$"
)


def heavy_guards(facts: Facts, _rows: Rows) -> Iterator[Finding]:
    """Many guards for little work: every call checks them all before it runs the graph."""
    for frame in facts.report.frames:
        guards = max((facts.guards.get((frame.process, i), 0) for i in frame.compile_ids), default=0)
        calls = frame.compiled_calls or 0
        if guards < _MANY_GUARDS or guards < _GUARDS_PER_OP * max(frame.ops or 0, 1) or calls < 2:
            continue
        found = _of_frame(
            facts,
            frame,
            "guard_overhead",
            "fewer_guarded_objects",
            f"{guards:,} guards are checked on every call, for {frame.ops or 0:,} operations",
            "read settings once in __init__, stack many small parameters into one tensor, "
            "and keep dicts and lists of numbers out of forward()",
            "if one call takes many milliseconds, a fraction of one for guards does not matter",
            severity="medium",
            confidence="medium",
        )
        spent = guards * calls * _GUARD_US * 1e-6
        cost = {
            "guards": Amount(guards, "counted", "guards of the largest entry"),
            "guard_check_s": Amount(round(spent, 6), "estimated", f"{_GUARD_US} us a guard and call"),
        }
        yield with_cost(found, cost)


def repeated_blocks(facts: Facts, _rows: Rows) -> Iterator[Finding]:
    """One graph holds many copies of the same block: compiling the block once is enough."""
    for graph in facts.report.graphs:
        copies = _copies(graph)
        if copies < _BLOCKS or (graph.compile_s or 0.0) < _BLOCK_COMPILE_S or graph.backward:
            continue
        spent = graph.compile_s or 0.0
        share = 1.0 - 1.0 / copies
        telling = Telling(
            rule="same_block_compiled_many_times",
            fix_kind="regional_compilation",
            summary=f"{graph.function}(): one graph holds {copies} copies of the same block",
            fix="compile the block instead of the model: for block in model.layers: block.compile()",
            subject="blocks",
            confidence="medium",
            could_be_wrong="work that spans blocks is no longer fused, and each block has a call of its own",
        )
        place = Place(graph.file, graph.line, graph.function)
        wall = facts.report.recording.wall_s or spent
        severity: Severity = "medium" if spent >= _LONG_COMPILE_S and spent >= 0.2 * wall else "note"
        found = finding(facts, Cause(), place, telling, severity)
        basis = f"estimated: {spent:.0f} s for {copies} copies, shared evenly"
        cost = {"compile_s": Amount(spent, "measured", f"compile of graph {graph.compile_id}")}
        yield _with_saving(with_cost(found, cost), Saving(round(spent * share, 1), 0.0, basis))


def cache_misses(facts: Facts, _rows: Rows) -> Iterator[Finding]:
    """The same function compiled in several processes, none served from the cache."""
    by_code: dict[tuple[str, int, str], list[Graph]] = defaultdict(list)
    for graph in facts.report.graphs:
        if not graph.backward and graph.cache.get("fx_graph"):
            by_code[(graph.file, graph.line, graph.function)].append(graph)
    for (file, line, function), graphs in by_code.items():
        missed = [g for g in graphs if g.cache["fx_graph"].get("miss") and not g.cache["fx_graph"].get("hit")]
        first = _first_per_process(missed)
        if len(first) < 2 or len(missed) < len(graphs) or len({_shapes(g) for g in first}) > 1:
            continue
        constant = _varying_constant(facts, file, line)
        yield _cache_miss(facts, Place(file, line, function), first, constant)


def _cache_miss(facts: Facts, place: Place, graphs: Sequence[Graph], constant: str | None) -> Finding:
    spent = sum(g.compile_s or 0.0 for g in graphs[1:])
    what = (
        f"{constant} differs from run to run and is compiled in"
        if constant
        else "something in the graph differs"
    )
    telling = Telling(
        rule="cache_key_unstable_constant",
        fix_kind="constant_to_tensor_input",
        summary=f"{place.function}(): no process finds another's compiled code in the cache: {what}",
        fix="pass the varying number as a tensor, so that the text of the graph repeats",
        subject=constant or "graph",
        confidence="high" if constant else "low",
        could_be_wrong="processes that started at the same time with an empty cache, or that use different "
        "cache folders, miss without any fault",
        notes=(f"{len(graphs)} processes, all with a cache miss for the same input shapes",),
    )
    found = finding(facts, Cause(), place, telling, "medium" if constant else "note")
    cost = {"compile_s": Amount(round(spent, 6), "measured", "compiles after the first process")}
    return _with_saving(
        with_cost(found, cost), Saving(round(spent, 6), 0.0, "measured; a cache hit is not free")
    )


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
        found = _of_frame(
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
            diff=_in_place_zero(facts, group[0].file),
        )
        cost = {
            "captures": Amount(
                len(captures), "counted", "ids of compiled autograd: " + ", ".join(sorted(captures))
            ),
            "compile_s": Amount(round(spent, 6), "measured", "compiles after the first capture"),
        }
        yield _with_saving(
            with_cost(found, cost), Saving(round(spent, 6), None, "captures after the first, measured")
        )


def unexplained_limits(facts: Facts, rows: Rows) -> Iterator[Finding]:
    """A limit was hit and no guard tells why: the count of eager calls is all there is."""
    for named in rows.limits:
        row = named.row
        last = row.last_cause.source if row.last_cause else None
        telling = Telling(
            rule="recompile_limit_hit",
            fix_kind="see_guard",
            summary=f"{row.function}() hit the recompile limit and runs without torch.compile",
            fix="find what changes between calls" + (f": torch last named {last}" if last else ""),
            subject=last or "limit",
            confidence="low",
            could_be_wrong="the last failing guard is not always the main cause",
        )
        place = Place(row.file, row.line, row.function, None, row.called_from)
        yield finding(facts, Cause(limits=(named,)), place, telling, "high")


def _of_frame(
    facts: Facts,
    frame: Frame,
    rule: str,
    fix_kind: str,
    summary: str,
    fix: str,
    wrong: str,
    *,
    severity: Severity,
    confidence: str,
    ids: tuple[str, ...] = (),
    diff: str | None = None,
) -> Finding:
    telling = Telling(
        rule=rule,
        fix_kind=fix_kind,
        summary=f"{frame.function}(): {summary}",
        fix=fix,
        subject=rule,
        diff=diff,
        confidence="high" if confidence == "high" else "medium",
        could_be_wrong=wrong,
        notes=(("compile ids " + ", ".join(ids)),) if ids else (),
    )
    code = next(iter(facts.sources.lines(frame.file)[frame.line - 1 : frame.line]), None)
    place = Place(frame.file, frame.line, frame.function, code, frame.called_from)
    return finding(facts, Cause(), place, telling, severity)


def _with_saving(found: Finding, saving: Saving) -> Finding:
    from dataclasses import replace

    return replace(found, saving=saving)


def _copies(graph: Graph) -> int:
    """Layers whose parameters have the same names and shapes, by their place in a ModuleList."""
    layers: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for placeholder in graph.placeholders:
        found = _LAYER.search(placeholder.source or "")
        if found:
            layers[found[1]].add((found[2], str(placeholder.shape)))
    alike = Counter(frozenset(parameters) for parameters in layers.values() if len(parameters) > 1)
    return max(alike.values(), default=0)


def _first_per_process(graphs: Sequence[Graph]) -> list[Graph]:
    first: dict[str, Graph] = {}
    for graph in graphs:
        first.setdefault(graph.process, graph)
    return list(first.values())


def _shapes(graph: Graph) -> str:
    return str([(p.dtype, p.shape) for p in graph.placeholders])


def _varying_constant(facts: Facts, file: str, line: int) -> str | None:
    """A module-level name made from a clock, a random number or a process id, read in the function."""
    tree, function = facts.sources.tree(file), facts.sources.function_at(file, line)
    read = names_in(function)
    for node in tree.body if tree else ():
        if isinstance(node, ast.Assign) and any(
            _VARYING.search(called_name(c) or "") for c in calls_in(node.value)
        ):
            is_tensor = any((called_name(c) or "").startswith("torch.") for c in calls_in(node.value))
            names = {t.id for t in node.targets if isinstance(t, ast.Name)} & read
            if names and not is_tensor:
                return sorted(names)[0]
    return None


def _in_place_zero(facts: Facts, file: str) -> str | None:
    from compilescope.advice.diff import Edit, unified

    lines = facts.sources.lines(file)
    for call in calls_in(facts.sources.tree(file)):
        if (called_name(call) or "").endswith("zero_grad") and call.lineno == call.end_lineno:
            line = lines[call.lineno - 1]
            text = line.replace("set_to_none=True", "set_to_none=False")
            if text == line:
                text = line.replace("zero_grad()", "zero_grad(set_to_none=False)")
            return unified(facts.sources, file, [Edit(call.lineno, call.lineno, [text])])
    return None
