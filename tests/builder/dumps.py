"""Writes small dumps for tests: entries with one tensor in and one out, and what a test changes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Json = dict[str, Any]


def tensor(norm: float = 2.0, **changes: object) -> Json:
    """A float32 tensor of four elements whose statistics follow from its norm."""
    facts: Json = {
        "type": "torch.Tensor",
        "dtype": "torch.float32",
        "shape": [2, 2],
        "Max": norm * 0.75,
        "Min": -norm * 0.5,
        "Mean": norm * 0.125,
        "Norm": norm,
        "requires_grad": False,
    }
    return {**facts, **changes}


def saved_tensor(values: NDArray[np.float32], folder: Path, name: str) -> Json:
    """A float32 parameter with its statistics, its elements in a file of the dump's folder."""
    (folder / "dump_tensor_data").mkdir(exist_ok=True)
    np.save(folder / "dump_tensor_data" / f"{name}.npy", values)
    return {
        "type": "torch.Tensor",
        "dtype": "torch.float32",
        "shape": list(values.shape),
        "Max": float(values.max()),
        "Min": float(values.min()),
        "Mean": float(values.mean()),
        "Norm": float(np.linalg.norm(values)),
        "requires_grad": True,
        "data_name": f"{name}.npy",
    }


def forward(inputs: list[object], outputs: list[object], **more: object) -> Json:
    return {"input_args": inputs, "input_kwargs": {}, "output": outputs, **more}


def backward(inputs: list[object], outputs: list[object]) -> Json:
    return {"input": inputs, "output": outputs}


def write_dump(
    folder: Path,
    data: Mapping[str, object],
    construct: Mapping[str, object] | None = None,
    stack: Mapping[str, object] | None = None,
    **head: object,
) -> Path:
    """Write one rank directory and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    facts = {"task": "statistics", "level": "mix", "framework": "pytorch", "dump_data_dir": None}
    (folder / "dump.json").write_text(json.dumps({**facts, **head, "data": data}))
    if construct is not None:
        (folder / "construct.json").write_text(json.dumps(construct))
    if stack is not None:
        (folder / "stack.json").write_text(json.dumps(stack))
    return folder
