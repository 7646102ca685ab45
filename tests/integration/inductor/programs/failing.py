"""Every reader of Inductor's structures fails: the program must not notice."""

from __future__ import annotations

from typing import Any, NoReturn

import torch
import torch._inductor.config

from compilescope.capture import _inductor_schedule
from compilescope.capture._inductor_autotune import Autotuning
from compilescope.capture._inductor_unfused import UnfusedPairs


def _fails(*_: Any) -> NoReturn:
    raise RuntimeError("not what was expected")


def _two_sums(t: torch.Tensor) -> torch.Tensor:
    return t.sum(0) + t.sum(1)


if __name__ == "__main__":
    _inductor_schedule.described_node = _fails
    _inductor_schedule.described_call = _fails
    UnfusedPairs._keep = _fails
    UnfusedPairs.take = _fails
    Autotuning._note_node = _fails
    x = torch.arange(64.0).reshape(8, 8)
    assert torch.equal(torch.compile(_two_sums)(x), x.sum(0) + x.sum(1))
    layer = torch.nn.Linear(64, 64).eval()
    with torch.no_grad(), torch._inductor.config.patch(max_autotune=True, freezing=True):
        y = torch.randn(16, 64)
        torch.testing.assert_close(torch.compile(layer)(y), layer(y))
