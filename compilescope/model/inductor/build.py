"""Records of one process -> what Inductor made of each graph. Texts are kept as references until read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from compilescope.model.inductor import autotune, cudagraphs
from compilescope.model.inductor.sources import (
    PROVENANCE,
    AotSource,
    Fact,
    GraphSource,
    InductorFacts,
    Lookup,
    Text,
)
from compilescope.model.inductor.values import Autotuning, GraphKey, TritonTuning

AOT_EVENTS = frozenset({"aot_joint_graph", "aot_forward_graph", "aot_backward_graph", "aot_inference_graph"})
_METRICS = frozenset({"compilation_metrics", "bwd_compilation_metrics"})
_POST_GRAD = "inductor_post_grad_graph"
_METADATA = "aot_forward_graph_fw_metadata"
_FX_CACHE = "fx_graph_cache_"
_RUNG_MADE = frozenset({"RungCompiled", "RungFailed"})
_CACHES = (_FX_CACHE, "aotautograd_cache_")
_TRITON_INFO = "triton_kernel_info"
_TOLD_PHASES = (cudagraphs.RECORDING_PHASE, autotune.PHASE_SUFFIX)
# Of the many records called `artifact` only those of these names are shown to a collector.
ARTIFACTS = frozenset(
    {
        *(cache + outcome for cache in _CACHES for outcome in ("hit", "miss", "bypass")),
        _POST_GRAD,
        _METADATA,
        _TRITON_INFO,
        *PROVENANCE,
    }
)
KINDS = frozenset(
    {
        *AOT_EVENTS,
        *_METRICS,
        "inductor_output_code",
        "inductor_schedule",
        "inductor_calls",
        "inductor_unfused",
        _POST_GRAD,
        "dynamo_output_graph",
        "fx_graph",
        "artifact",
        "autotune",
        "triton_autotune",
        "cudagraph_record",
        "cudagraph_warm_up",
        "bucket",
        "phases",
        "log",
        "reset",
    }
)


@dataclass(slots=True)
class _Pending:
    """What comes before the code it belongs to. The calls of partitions come before the schedule."""

    schedule: tuple[Mapping[str, Any], Text] | None = None
    calls: list[tuple[Any, Text]] = field(default_factory=list)  # (name of the function, its rows)
    unfused: tuple[Mapping[str, Any], Text] | None = None
    post_grad: Text | None = None
    dynamo: Text | None = None
    aot: AotSource | None = None


class Collector:
    """Feed it the records of one process in file order; kinds outside :data:`KINDS` are ignored."""

    def __init__(self) -> None:
        self._epoch = 0
        self._pending: dict[GraphKey, _Pending] = {}
        self._graphs: list[GraphSource] = []
        self._of: dict[GraphKey, list[GraphSource]] = {}
        self._stems: dict[str, list[GraphSource]] = {}
        self._aot: list[tuple[GraphKey, AotSource]] = []
        self._lookups: list[Lookup] = []
        self._recorded: dict[GraphKey, list[Autotuning]] = {}
        self._phased: dict[GraphKey, list[Autotuning]] = {}
        self._tunings: list[TritonTuning] = []
        self._cudagraphs: list[tuple[GraphKey | None, Mapping[str, Any]]] = []
        self._warm_ups: list[tuple[GraphKey | None, Mapping[str, Any]]] = []
        self._entries: dict[tuple[str, int], GraphKey] = {}  # captured graphs of bucketed backends
        self._recordings_s: list[float] = []
        self._warnings: list[str] = []
        self._disabled: list[str] = []

    def add(self, fact: Fact) -> None:
        key = graph_key(fact.c, fact.ca)
        if key is not None:
            self._epoch = max(self._epoch, key[1])
        if fact.kind == "reset":
            self._epoch += 1
        elif fact.kind == "phases":
            self._phases(fact.rows)
        elif fact.kind == "log":
            self._log(fact.m)
        elif fact.kind == "triton_autotune":
            self._tuning(fact.m)
        elif fact.kind == "cudagraph_record":
            self._cudagraphs.append((self._key_of_phase(fact.m.get("compile")), fact.m))
        elif fact.kind == "cudagraph_warm_up":
            self._warm_ups.append((self._key_of_phase(fact.m.get("compile")), fact.m))
        elif fact.kind == "bucket":
            self._rung(key, fact.m)
        elif fact.kind in _METRICS:
            reason = fact.m.get("cudagraph_skip_reason")
            self._disabled += [reason] if isinstance(reason, str) else []
        elif fact.kind in KINDS:
            self._of_a_compile(key, fact)

    def _rung(self, key: GraphKey | None, m: Mapping[str, Any]) -> None:
        """A rung's graphs and choices come before the event that says it is compiled."""
        number = m.get("entry")
        entry = (str(m.get("backend")), number if isinstance(number, int) else 0)
        if key is not None:
            self._entries.setdefault(entry, key)
        captured = self._entries.get(entry)
        if captured is None or m.get("event") not in _RUNG_MADE:
            return
        rung = (*entry, str(m.get("rung")))
        for graph in self._of.get(captured, ()):
            graph.rung = graph.rung or rung
        tuned = self._recorded.get(captured, [])
        tuned[:] = [found if found.rung else replace(found, rung=rung) for found in tuned]

    def _tuning(self, m: Mapping[str, Any]) -> None:
        """A kernel without its name is a candidate for fusing an epilogue, not a kernel of the graph."""
        found = autotune.triton_tuning(m, self._key_of_phase(m.get("compile")))
        if "Placeholder" not in found.kernel:
            self._tunings.append(found)

    def _of_a_compile(self, key: GraphKey | None, fact: Fact) -> None:
        if fact.kind == "artifact":
            self._artifact(key, fact)
        elif key is None:
            return
        elif fact.kind == "autotune":
            self._recorded.setdefault(key, []).append(autotune.from_record(fact.m))
        elif fact.kind == "fx_graph":
            self._described(key, fact.m)
        elif fact.kind == "inductor_output_code":
            self._code(key, fact)
        elif fact.kind in AOT_EVENTS:
            self._aot_text(key, fact.kind, fact.text)
        else:
            self._before_code(key, fact)

    def _before_code(self, key: GraphKey, fact: Fact) -> None:
        pending = self._at(key)
        if fact.kind == "inductor_schedule":
            if pending.schedule is not None:  # of a compile that failed before it had code
                pending.calls = _after_last_call(pending.calls)
            pending.schedule = (fact.m, fact.text)
        elif fact.kind == "inductor_unfused":
            pending.unfused = (fact.m, fact.text)
        elif fact.kind == "inductor_calls":
            pending.calls.append((fact.m.get("function"), fact.text))
        elif fact.kind == _POST_GRAD:
            pending.post_grad = fact.text
        elif fact.kind == "dynamo_output_graph":
            pending.dynamo = fact.text

    def _at(self, key: GraphKey) -> _Pending:
        return self._pending.setdefault(key, _Pending())

    def _aot_text(self, key: GraphKey, kind: str, text: Text) -> None:
        """A graph of a kind that is there already belongs to another graph of the same compile."""
        pending = self._at(key)
        if pending.aot is None or kind in pending.aot.texts:
            metadata = pending.aot.texts.get(_METADATA) if pending.aot else None
            pending.aot = AotSource({_METADATA: metadata} if metadata else {})
            self._aot.append((key, pending.aot))
        pending.aot.texts[kind] = text

    def _artifact(self, key: GraphKey | None, fact: Fact) -> None:
        name = str(fact.m.get("name"))
        if name.startswith(_CACHES):
            self._lookups.append(Lookup(key, name, fact.text))
        elif key is not None and name == _POST_GRAD:
            self._at(key).post_grad = fact.text
        elif key is not None and name == _METADATA:
            self._metadata(key, fact.text)
        elif key is not None and name == _TRITON_INFO:
            for latest in self._of.get(key, ())[-1:]:
                latest.triton_info = fact.text
        elif key is not None and name in PROVENANCE:
            for latest in self._of.get(key, ())[-1:]:  # it follows the code
                latest.provenance[name] = fact.text

    def _metadata(self, key: GraphKey, text: Text) -> None:
        """It stands between the joint and the forward graph, or before the inference graph."""
        pending = self._at(key)
        if (
            pending.aot is None
            or "aot_forward_graph" in pending.aot.texts
            or "aot_inference_graph" in pending.aot.texts
        ):
            pending.aot = AotSource()
            self._aot.append((key, pending.aot))
        pending.aot.texts[_METADATA] = text

    def _code(self, key: GraphKey, fact: Fact) -> None:
        pending = self._at(key)
        if pending.aot is None:
            pending.aot = AotSource()
        source = GraphSource(key, _stem(fact.m.get("filename")), fact.text, pending.aot)
        source.schedule, source.calls = pending.schedule, [text for _, text in pending.calls]
        source.post_grad, source.dynamo, source.unfused = pending.post_grad, pending.dynamo, pending.unfused
        pending.schedule, pending.calls, pending.post_grad, pending.unfused = None, [], None, None
        self._graphs.append(source)
        self._of.setdefault(key, []).append(source)
        self._stems.setdefault(source.stem or "", []).append(source)

    def _described(self, key: GraphKey, m: Mapping[str, Any]) -> None:
        """The `fx_graph` record names the file of its code; the first such code without a record is meant."""
        if m.get("inherited"):
            return
        same = [g for g in self._of.get(key) or self._elsewhere(key, m) if not g.described]
        named = [g for g in same if g.stem is not None and g.stem == m.get("code")]
        if named or same:
            (named or same)[0].described = m

    def _elsewhere(self, key: GraphKey, m: Mapping[str, Any]) -> list[GraphSource]:
        """A record that does not know compiled autograd's id: same frame and recompile, same code."""
        return [g for g in self._stems.get(str(m.get("code")), ()) if g.key[1:] == key[1:]]

    def _phases(self, rows: Iterable[Any]) -> None:
        for row in rows:
            if not isinstance(row, list) or len(row) < 3 or not isinstance(row[0], str):
                continue
            if not row[0].endswith(_TOLD_PHASES):  # of hundreds of thousands a few
                continue
            if row[0] == cudagraphs.RECORDING_PHASE and isinstance(row[2], int | float) and row[2] >= 0:
                self._recordings_s.append(row[2] / 1e6)
            args = row[4] if len(row) > 4 and isinstance(row[4], Mapping) else {}
            found = autotune.from_phase(row[0], row[2], args) if isinstance(row[2], int | float) else None
            key = self._key_of_phase(args.get("compile_id")) if found is not None else None
            if found is not None and key is not None:
                self._phased.setdefault(key, []).append(found)

    def _key_of_phase(self, text: Any) -> GraphKey | None:
        """From torch's words: ``0/1``, or ``!0/1/2`` under compiled autograd. In the current epoch."""
        if not isinstance(text, str):
            return None
        numbers = text.lstrip("!").split("/")
        if not all(n.isdigit() for n in numbers) or len(numbers) not in (2, 3):
            return None
        autograd = int(numbers[0]) if len(numbers) == 3 else -1
        return (autograd, self._epoch, int(numbers[-2]), int(numbers[-1]))

    def _log(self, m: Mapping[str, Any]) -> None:
        if "cudagraph" in str(m.get("logger")) and isinstance(m.get("text"), str):
            self._warnings.append(m["text"])

    def _assign_outcomes(self) -> None:
        """In order, if there is one outcome a graph; else by the key in the `fx_graph` record."""
        found: dict[GraphKey | None, list[Lookup]] = {}
        for lookup in self._lookups:
            if lookup.name.startswith(_FX_CACHE):
                found.setdefault(lookup.key, []).append(lookup)
        for key, graphs in self._of.items():
            lookups = found.get(key, [])
            if len(lookups) == len(graphs):
                for graph, lookup in zip(graphs, lookups, strict=True):
                    graph.cache = lookup.name.removeprefix(_FX_CACHE)
            elif lookups:
                outcomes = [outcome for lookup in lookups if (outcome := lookup.read()) is not None]
                by_key = {outcome.key: outcome.outcome for outcome in outcomes if outcome.key}
                for graph in graphs:
                    graph.cache = by_key.get(str(graph.described.get("cache_key")))

    def finish(self) -> InductorFacts:
        self._assign_outcomes()
        _share_schedules(self._graphs)
        keys = dict.fromkeys((*self._recorded, *self._phased))
        return InductorFacts(
            graphs=tuple(self._graphs),
            aot=tuple(self._aot),
            lookups=tuple(self._lookups),
            autotunings={
                k: autotune.merged(self._recorded.get(k, ()), self._phased.get(k, ())) for k in keys
            },
            triton_tunings=tuple(self._tunings),
            cudagraphs=cudagraphs.cudagraphs(
                [g.described for g in self._graphs],
                self._cudagraphs,
                self._warnings,
                self._recordings_s,
                self._disabled,
                self._warm_ups,
            ),
        )


def _share_schedules(graphs: Sequence[GraphSource]) -> None:
    """Code that was compiled in this process and later came from the cache: the scheduler's facts hold."""
    scheduled = {graph.stem: graph for graph in graphs if graph.schedule is not None and graph.stem}
    for graph in graphs:
        made = scheduled.get(graph.stem or "")
        if graph.schedule is None and made is not None:
            graph.schedule, graph.calls, graph.unfused = made.schedule, made.calls, made.unfused


def graph_key(c: Sequence[Any] | None, ca: int | None = None) -> GraphKey | None:
    if c is None or len(c) < 4 or not all(isinstance(n, int) for n in (c[0], c[1], c[3])):
        return None
    return (ca if isinstance(ca, int) else -1, c[3], c[0], c[1])


def _after_last_call(calls: list[tuple[Any, Text]]) -> list[tuple[Any, Text]]:
    last = max((i for i, (function, _) in enumerate(calls) if function == "call"), default=-1)
    return calls[last + 1 :]


def _stem(path: Any) -> str | None:
    if not isinstance(path, str):
        return None
    name = path.replace("\\", "/").rpartition("/")[2]
    return name.removesuffix(".py")
