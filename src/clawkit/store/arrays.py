"""The shapes of numbers that memory computes with; imported for their names only."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
"""Scores of many nodes, one vector, or a vector a row."""

Seqs = npt.NDArray[np.int64]
"""Numbers of nodes."""

Bools = npt.NDArray[np.bool_]
"""Whether something is so of each of many nodes."""
