from __future__ import annotations

from compilescope.model.inductor.cudagraphs import cudagraphs, functions, skip, skips

_MUTATED = (
    "skipping cudagraphs due to mutated inputs (1 instances). Found from : \n"
    '   File "/home/user/project/cudagraph.py", line 7, in forward\n'
    "    y = torch.relu(s.l(x)); buf.add_(1)\n"
)
_LIMIT = "skipping cudagraph due to function 3 exceeding max re-recording limit (=128) on cudagraph node None"


def test_a_reason_with_its_line() -> None:
    found = skip(_MUTATED)
    assert found is not None
    reason, line = found
    assert reason == "mutated inputs (1 instances)"
    assert line is not None
    assert (line.file, line.line, line.function) == ("/home/user/project/cudagraph.py", 7, "forward")
    assert "buf.add_(1)" in line.code


def test_reasons_are_counted_and_other_warnings_are_none() -> None:
    found = skips([_MUTATED, _LIMIT, _MUTATED, "CUDAGraph supports dynamic shapes by recording"])
    assert [(s.count, s.line is None) for s in found] == [(2, False), (1, True)]
    assert "re-recording limit" in found[1].reason


def test_recordings_of_one_graph_at_three_sizes() -> None:
    first, second = (-1, 0, 0, 0), (-1, 0, 0, 1)
    rows = [
        (first, {"mode": "inference", "inputs": [[8, 64]]}),
        *((second, {"mode": "inference", "inputs": [[n, 64], n, None]}) for n in (16, 24, 16)),
    ]
    one, more = functions(rows)
    assert (one.key, one.recordings, one.sizes) == (first, 1, ("8x64",))
    assert (more.recordings, more.sizes) == (3, ("16x64, 16, ?", "24x64, 24, ?"))


def test_warm_ups_and_the_growth_of_the_pool() -> None:
    key = (-1, 0, 0, 0)
    rows = [
        (key, {"mode": "forward", "pool": [0, 1], "pool_bytes": 100}),
        (key, {"mode": "backward", "pool": [0, 1], "pool_bytes": 150}),
        (key, {"mode": "forward", "pool": [0, 1], "pool_bytes": 170}),
        (key, {"mode": "forward", "pool": [0, 2], "pool_bytes": 7}),
        (key, {"mode": "forward", "pool_bytes": "x"}),
    ]
    warm_ups = [(key, {"mode": "forward"})] * 3 + [(key, {"mode": 3})]
    forward, backward = functions(rows, warm_ups)
    assert (forward.recordings, forward.warm_ups, forward.pool_growth_bytes) == (4, 3, 127)
    assert (backward.recordings, backward.warm_ups, backward.pool_growth_bytes) == (1, 0, 50)
    assert cudagraphs([], rows, [], []).pool_bytes == 177
    assert cudagraphs([], [], [_LIMIT], []).limited
    assert not cudagraphs([], [], [_MUTATED], []).limited


def test_the_number_of_sizes_torch_warned_about() -> None:
    text = "CUDAGraph supports dynamic shapes by recording. We have observed {} distinct sizes. Please"
    assert cudagraphs([], [], [text.format(9), text.format(51)], []).warned_sizes == 51
    assert cudagraphs([], [], [_LIMIT], []).warned_sizes is None


def test_facts_of_a_process() -> None:
    graphs = [{"cudagraphs": True, "cudagraphs_disabled": "cpu device (arg0)"}, {"cudagraphs": False}]
    found = cudagraphs(graphs, [], [_MUTATED], [0.25, 0.5])
    assert (found.enabled, found.disabled_reason) == (True, "cpu device (arg0)")
    assert (found.recordings, found.recording_s) == (2, 0.75)
    assert not cudagraphs([], [], [], []).enabled
