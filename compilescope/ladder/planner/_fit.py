"""Least squares with coefficients that are not negative, for the few columns a cost model has."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def fit_relative(columns: Floats, costs: Floats) -> tuple[Floats, float]:
    """Coefficients >= 0 of ``columns`` (shape (points, terms)) with the least squared relative error.

    Returns them and the largest relative error of a point. Every set of terms is tried: with at most four
    of them that is exact and needs no solver.
    """
    scaled = columns / costs[:, None]
    terms = columns.shape[1]
    best, best_error = np.zeros(terms), np.inf
    for count in range(1, min(terms, len(costs)) + 1):
        for chosen in combinations(range(terms), count):
            part, *_ = np.linalg.lstsq(scaled[:, chosen], np.ones(len(costs)), rcond=None)
            error = float(np.sum((scaled[:, chosen] @ part - 1) ** 2))
            if part.min() >= 0 and error < best_error - 1e-15:
                best, best_error = np.zeros(terms), error
                best[list(chosen)] = part
    return best, float(np.max(np.abs(scaled @ best - 1)))
