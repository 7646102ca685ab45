"""CUDA graphs: a skip with its line, a recording for each size, replays, memory of the pool."""

from __future__ import annotations

import pytest

from .recorded import Recorded

SIZES = (8, 16, 24, 32)


def test_a_mutated_input_is_a_skip_with_its_line(cudagraphs: Recorded) -> None:
    (found,) = cudagraphs.report.cudagraphs
    (skip,) = found.skips
    assert skip.reason.startswith("mutated inputs")
    assert skip.line == cudagraphs.line("counter.add_(1)")
    assert skip.file is not None
    assert skip.file.endswith("cudagraphs.py")


def test_each_size_is_a_recording(cudagraphs: Recorded) -> None:
    (found,) = cudagraphs.report.cudagraphs
    static, dynamic = [f for f in found.functions if f.function == "drifting"]
    assert (static.recordings, dynamic.recordings) == (1, len(SIZES) - 1)
    assert len(static.sizes) == 1
    assert len(dynamic.sizes) == len(SIZES) - 1


def test_four_calls_of_a_size_are_one_warm_up_one_recording_two_replays(cudagraphs: Recorded) -> None:
    (found,) = cudagraphs.report.cudagraphs
    static, dynamic = [f for f in found.functions if f.function == "drifting"]
    assert (static.warm_ups, static.replays) == (1, 2)
    assert (dynamic.warm_ups, dynamic.replays) == (len(SIZES) - 1, 2 * (len(SIZES) - 1))


def test_memory_of_the_pool(cudagraphs: Recorded) -> None:
    (found,) = cudagraphs.report.cudagraphs
    assert found.pool_bytes is not None
    assert found.pool_bytes == pytest.approx(cudagraphs.printed("POOL"), rel=0.05)
