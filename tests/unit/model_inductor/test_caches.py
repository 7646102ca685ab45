from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from compilescope.model.inductor.caches import cache_outcome, components, explained_misses, nearest, why_miss
from compilescope.model.inductor.values import CacheOutcome, Component

_GRAPH = "[aaa] gm: GraphModule()\n\ndef forward(self, x):\n    mul = x * 2\n    return mul"
_INPUT = "[bbb] example_inputs[0]: TensorMetadata(dtype=torch.float32, shape=torch.Size([8, 16]))"
_CONFIG = "[ccc] inductor_config[max_autotune]: False"
_DEVICE = "[ddd] system_info[device]: {'name': 'NVIDIA H200'}"


def _outcome(*parts: str, outcome: str = "miss") -> CacheOutcome:
    payload = {"key": "f1", "cache_status_detailed": "full_miss", "components": list(parts)}
    found = cache_outcome(f"fx_graph_cache_{outcome}", json.dumps(payload))
    assert found is not None
    return found


def test_a_hit_saves_time_and_a_bypass_has_a_reason() -> None:
    hit = cache_outcome("fx_graph_cache_hit", json.dumps({"key": "f1", "time_saved_ns": 2_500_000_000}))
    assert hit is not None
    assert (hit.cache, hit.outcome, hit.saved_s) == ("fx_graph", "hit", 2.5)
    bypass = cache_outcome("aotautograd_cache_bypass", '{"cache_bypass_reason": "Unsupported custom pass"}')
    assert bypass is not None
    assert (bypass.cache, bypass.bypass_reason) == ("aot_autograd", "Unsupported custom pass")
    assert cache_outcome("triton_kernel_info", "{}") is None
    torn = cache_outcome("fx_graph_cache_miss", '{"key": "f1", "comp')
    assert torn is not None
    assert (torn.outcome, torn.key, torn.components) == ("miss", None, ())


def test_the_component_that_changed_is_named_with_what_differs() -> None:
    a = components([_GRAPH, _INPUT, _CONFIG])
    b = components([_GRAPH, _INPUT.replace("8, 16", "9, 16").replace("bbb", "eee"), _CONFIG])
    (change,) = why_miss(a, b)
    assert (change.path, change.change) == ("example_inputs[0]", "changed")
    assert "[8, 16]" in change.before
    assert "[9, 16]" in change.after


def test_of_a_changed_graph_the_first_line_that_differs() -> None:
    a, b = components([_GRAPH]), components([_GRAPH.replace("x * 2", "x * 3").replace("aaa", "eee")])
    (change,) = why_miss(a, b)
    assert (change.before, change.after) == ("mul = x * 2", "mul = x * 3")


def test_what_a_person_can_change_comes_first() -> None:
    a = components([_DEVICE, _CONFIG, _INPUT])
    b = components(
        [
            _DEVICE.replace("ddd", "1").replace("H200", "H100"),
            _CONFIG.replace("ccc", "2").replace("False", "True"),
        ]
    )
    assert [(c.path, c.change) for c in why_miss(a, b)] == [
        ("example_inputs[0]", "removed"),
        ("inductor_config[max_autotune]", "changed"),
        ("system_info[device]", "changed"),
    ]


def test_the_digest_decides() -> None:
    a, b = [Component("torch_version", "1", "same text")], [Component("torch_version", "2", "same text")]
    (change,) = why_miss(a, b)
    assert (change.path, change.change) == ("torch_version", "digest")
    assert why_miss(a, a) == ()


def test_the_nearest_key_is_of_the_same_graph() -> None:
    miss = _outcome(_GRAPH, _INPUT, _CONFIG.replace("ccc", "zzz").replace("False", "True"))
    same_graph = _outcome(_GRAPH, _INPUT, _CONFIG)
    other_graph = _outcome(_GRAPH.replace("aaa", "fff"), _INPUT, _CONFIG.replace("ccc", "zzz"))
    found = nearest(miss, [other_graph, same_graph])
    assert found is not None
    assert found[0] is same_graph
    assert [c.path for c in found[1]] == ["inductor_config[max_autotune]"]
    assert nearest(miss, []) is None


def test_misses_of_a_second_run() -> None:
    first = [_outcome(_GRAPH, _INPUT, _CONFIG)]
    second = [
        _outcome(_GRAPH, _INPUT, _CONFIG, outcome="hit"),
        _outcome(_GRAPH, _INPUT, _CONFIG.replace("ccc", "zzz").replace("False", "True")),
        _outcome(_GRAPH, _INPUT, _CONFIG),
    ]
    changed, evicted = explained_misses(first, second)
    assert [(c.path, c.before, c.after) for c in changed.changes] == [
        ("inductor_config[max_autotune]", "False", "True")
    ]
    assert (evicted.nearest, evicted.changes) == (first[0], ())
    assert explained_misses([], second[2:])[0].nearest is None


_PARTS = st.lists(
    st.builds(Component, st.sampled_from(["gm", "a", "b[0]"]), st.sampled_from("12"), st.text(max_size=20)),
    max_size=6,
)


@given(_PARTS, _PARTS)
def test_no_change_exactly_when_all_digests_are_equal(a: list[Component], b: list[Component]) -> None:
    same = [(p.path, p.digest) for p in sorted(a, key=lambda p: p.path)] == [
        (p.path, p.digest) for p in sorted(b, key=lambda p: p.path)
    ]
    assert (why_miss(a, b) == ()) == same
    assert len(why_miss(a, b)) == len(why_miss(b, a))


@given(st.one_of(st.text(max_size=40), st.lists(st.text(max_size=20)), st.integers(), st.none()))
def test_any_components(value: object) -> None:
    assert isinstance(components(value), tuple)
