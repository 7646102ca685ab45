"""SARIF 2.1.0: findings where code scanning shows them."""

from __future__ import annotations

from compilescope.views.sarif._render import render

__all__ = ["render"]
