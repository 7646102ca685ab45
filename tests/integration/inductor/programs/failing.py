"""Every reader of Inductor's structures fails: the program must not notice."""

from __future__ import annotations

from typing import Any, NoReturn

import torch

from compilescope.capture import _inductor_schedule


def _fails(*_: Any) -> NoReturn:
    raise RuntimeError("not what was expected")


if __name__ == "__main__":
    _inductor_schedule.described_node = _fails
    _inductor_schedule.described_call = _fails
    x = torch.arange(8.0)
    assert torch.equal(torch.compile(lambda t: t * 2 + 1)(x), x * 2 + 1)
