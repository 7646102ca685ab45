"""SARIF 2.1.0: findings where code scanning shows them."""

from __future__ import annotations

__all__: list[str] = []
