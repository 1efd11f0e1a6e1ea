"""Writes the tensor files of a generated dump: a few seeded tensors, saved under every name.

Statistics in dump.json are those of the tensor that was saved.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from benchmarks.dump_text import tensor_text
from benchmarks.recording import Side, Value

POOL = 8


class TensorFiles:
    """Saves one float32 tensor of `elements` elements for each value it describes."""

    def __init__(self, folder: Path, side: Side, elements: int, fault_factor: float) -> None:
        import torch

        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._save = torch.save
        self._fault = fault_factor if side == "problem" else 1.0
        self._count = 0
        arrays = np.random.default_rng(0).standard_normal((POOL, elements), dtype=np.float32)
        self._clean = [torch.from_numpy(array) for array in arrays.copy()]
        self._faulty = [tensor * self._fault for tensor in self._clean]
        self._facts = {id(one): _statistics(one.numpy()) for one in self._clean + self._faulty}

    def describe(self, value: Value, name: str) -> str:
        pool = self._faulty if value.diverged else self._clean
        tensor = pool[self._count % POOL]
        self._count += 1
        file = f"{name}.pt"
        self._save(tensor, self._folder / file)
        extra = f',\n     "data_name": {json.dumps(file)}'
        return tensor_text(value, tuple(tensor.shape), self._facts[id(tensor)], extra)


def _statistics(array: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> tuple[float, ...]:
    norm = float(np.linalg.norm(array.astype(np.float64)))
    return float(array.max()), float(array.min()), float(array.mean(dtype=np.float64)), norm
