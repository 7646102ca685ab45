"""References to what a recording holds of each compiled graph. Texts are read when asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from compilescope.model.inductor.caches import cache_outcome
from compilescope.model.inductor.values import Autotuning, CacheOutcome, Cudagraphs, GraphKey, TritonTuning

Text = Callable[[], "str | None"]
Rung = tuple[str, int, str]  # backend, number of the captured graph, the rung's label
# Artifacts of torch's own provenance tracking: kernels to nodes, kernels to stacks.
PROVENANCE = (
    "inductor_provenance_tracking_node_mappings",
    "inductor_provenance_tracking_kernel_stack_traces",
)


@dataclass(frozen=True, slots=True)
class Fact:
    """A record, as far as it matters here. ``c``: (frame, recompile, attempt, epoch); ``ca``: autograd id.

    ``text`` reads the payload; ``rows`` are those of a `phases` record.
    """

    kind: str
    c: Sequence[Any] | None
    m: Mapping[str, Any]
    text: Text
    ca: int | None = None
    rows: Sequence[Any] = ()


@dataclass(slots=True)
class AotSource:
    texts: dict[str, Text] = field(default_factory=dict)


@dataclass(slots=True)
class GraphSource:
    """References to what is known of one compiled graph; :func:`read_graph` reads them."""

    key: GraphKey
    stem: str | None
    code: Text
    aot: AotSource
    post_grad: Text | None = None
    dynamo: Text | None = None
    schedule: tuple[Mapping[str, Any], Text] | None = None
    calls: list[Text] = field(default_factory=list)
    unfused: tuple[Mapping[str, Any], Text] | None = None
    described: Mapping[str, Any] = field(default_factory=dict)  # the `fx_graph` record
    triton_info: Text | None = None
    provenance: dict[str, Text] = field(default_factory=dict)  # torch's own, by the name of the artifact
    cache: str | None = None  # hit | miss | bypass
    rung: Rung | None = None  # of a bucketed backend: the rung it was compiled for


@dataclass(frozen=True, slots=True)
class Lookup:
    """One look-up of a compile cache. Its text lists the parts of the key: 70 kB, read when asked for."""

    key: GraphKey | None
    name: str  # of torch's artifact
    text: Text

    def read(self) -> CacheOutcome | None:
        return cache_outcome(self.name, self.text())


@dataclass(frozen=True)
class InductorFacts:
    """One process. ``graphs`` in the order their code was made or loaded."""

    graphs: tuple[GraphSource, ...]
    aot: tuple[tuple[GraphKey, AotSource], ...]
    lookups: tuple[Lookup, ...]
    autotunings: Mapping[GraphKey, tuple[Autotuning, ...]]
    triton_tunings: tuple[TritonTuning, ...]
    cudagraphs: Cudagraphs

    @cached_property
    def caches(self) -> tuple[tuple[GraphKey | None, CacheOutcome], ...]:
        """Every look-up with its details; reads the texts of all of them."""
        read = ((lookup.key, lookup.read()) for lookup in self.lookups)
        return tuple((key, outcome) for key, outcome in read if outcome is not None)
