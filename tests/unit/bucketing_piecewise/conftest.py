from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
import torch


@pytest.fixture(autouse=True)
def fresh_dynamo() -> Iterator[None]:
    """pytest listens on the root logger, for which torch would format every graph it traces."""
    logger = logging.getLogger("torch.__trace")
    logger.propagate, before = False, logger.propagate
    torch._dynamo.reset()
    torch.manual_seed(0)
    yield
    torch._dynamo.reset()
    logger.propagate = before
