"""How near texts are to a query: the cosine of their vectors, exact over all rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from memex_core.vectors.endpoint import Matrix

_ROWS_AT_ONCE = 8_192


def cosines(matrix: Matrix, rows: Sequence[int], query: Matrix) -> list[float]:
    """The cosine of each of these rows with `query`, whose length is that of a row; 0 for a row that is no
    direction (all zero, or not finite).
    """
    found: list[float] = []
    wanted = np.asarray(rows, dtype=np.intp)
    with np.errstate(all="ignore"):
        query = query / np.abs(query).max()  # no square of it overflows
    length = float(np.linalg.norm(query))
    for start in range(0, len(wanted), _ROWS_AT_ONCE):
        part = wanted[start : start + _ROWS_AT_ONCE]
        is_run = len(part) == part[-1] - part[0] + 1 and bool((np.diff(part) == 1).all())
        block = matrix[part[0] : part[-1] + 1] if is_run else matrix[part]
        with np.errstate(all="ignore"):
            scores = (block @ query) / (np.sqrt(np.einsum("ij,ij->i", block, block)) * length)
        found += np.where(np.isfinite(scores), scores, 0.0).tolist()
    return found
