from __future__ import annotations

import pytest

from compilescope.analysis.recording_info import _iso
from compilescope.analysis.sizes import _iso as _step_iso


@pytest.mark.parametrize("ns", [2**70, -(2**70), 2**62 * 1000, 10**400])
def test_a_damaged_time_is_unknown(ns):
    assert _iso(ns) is _step_iso(ns) is None


def test_a_time():
    assert _iso(1_795_994_393_881_347_000) == "2026-11-29T23:19:53.881+00:00"
    assert _iso(None) is None
