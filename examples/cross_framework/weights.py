"""Weights and batch of the small transformer by PyTorch's names: the same for both frameworks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

VOCABULARY, WIDTH, LENGTH, BATCH, BLOCKS = 20, 16, 8, 2, 2


def weights(seed: int = 7) -> dict[str, NDArray[np.float32]]:
    """The weights by name."""
    draw = np.random.RandomState(seed)
    shapes: dict[str, tuple[int, ...]] = {"embed.weight": (VOCABULARY, WIDTH)}
    for at in (f"layers.{block}" for block in range(BLOCKS)):
        for name in ("norm1", "norm2"):
            shapes |= {f"{at}.{name}.weight": (WIDTH,), f"{at}.{name}.bias": (WIDTH,)}
        for name in ("query", "key", "value", "out"):
            shapes |= linear(f"{at}.attention.{name}", WIDTH, WIDTH)
        shapes |= linear(f"{at}.mlp.fc1", WIDTH, 4 * WIDTH)
        shapes |= linear(f"{at}.mlp.fc2", 4 * WIDTH, WIDTH)
    shapes |= {"norm.weight": (WIDTH,), "norm.bias": (WIDTH,)}
    shapes |= linear("head", WIDTH, VOCABULARY)
    return {name: _drawn(draw, name, shape) for name, shape in shapes.items()}


def linear(name: str, inputs: int, outputs: int) -> dict[str, tuple[int, ...]]:
    """The shapes of a linear layer's parameters."""
    return {f"{name}.weight": (outputs, inputs), f"{name}.bias": (outputs,)}


def _drawn(draw: np.random.RandomState, name: str, shape: tuple[int, ...]) -> NDArray[np.float32]:
    values = draw.standard_normal(shape).astype(np.float32) * np.float32(0.2)
    return values + 1 if ".norm" in f".{name}" and name.endswith("weight") else values


def batch() -> NDArray[np.int32]:
    """The tokens of one step; each is its own label."""
    draw = np.random.RandomState(11)
    return draw.randint(0, VOCABULARY, (BATCH, LENGTH)).astype(np.int32)
