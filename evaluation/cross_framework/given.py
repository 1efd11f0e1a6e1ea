"""Weights and batches of the pairs of models, the same for both frameworks: NumPy draws them."""

from __future__ import annotations

import zlib
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]


def weights(shapes: Mapping[str, tuple[int, ...]], seed: int = 0) -> dict[str, Floats]:
    """Weights by PyTorch's names; each depends on its name and the seed alone."""
    return {name: _drawn(name, shape, seed) for name, shape in shapes.items()}


def _drawn(name: str, shape: tuple[int, ...], seed: int) -> Floats:
    draw = np.random.RandomState((zlib.crc32(name.encode()) + seed) % 2**32)
    if name.endswith("running_mean"):
        return np.zeros(shape, np.float32)
    if name.endswith("running_var"):
        return np.ones(shape, np.float32)
    values = (draw.standard_normal(shape) * 0.2).astype(np.float32)
    return values + np.float32(1) if "norm" in name and name.endswith("weight") else values


def images(step: int) -> tuple[Floats, Ints]:
    """Four pictures of 3 × 8 × 8 and their classes out of ten."""
    draw = np.random.RandomState(100 + step)
    return draw.rand(4, 3, 8, 8).astype(np.float32), draw.randint(0, 10, 4).astype(np.int32)


def sequences(step: int) -> tuple[Ints, Floats]:
    """Four rows of six tokens out of twenty, and a number for each row."""
    draw = np.random.RandomState(200 + step)
    tokens = draw.randint(0, 20, (4, 6)).astype(np.int32)
    return tokens, draw.standard_normal((4, 1)).astype(np.float32)


def vectors(step: int) -> tuple[Floats, Ints]:
    """Three rows of five vectors of 16, and a class out of five for each vector."""
    draw = np.random.RandomState(300 + step)
    rows = draw.standard_normal((3, 5, 16)).astype(np.float32)
    return rows, draw.randint(0, 5, (3, 5)).astype(np.int32)


def words(step: int) -> tuple[Ints, Ints]:
    """Three rows of seven tokens out of thirty, and the token that follows each."""
    draw = np.random.RandomState(400 + step)
    rows = draw.randint(0, 30, (3, 8)).astype(np.int32)
    return np.ascontiguousarray(rows[:, :-1]), np.ascontiguousarray(rows[:, 1:])
