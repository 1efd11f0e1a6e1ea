"""A small run as a dump: two steps of two ranks, a few calls, numbers that follow from tensors."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from msprobe_core.format import SKETCH_VERSION

Json = dict[str, Any]
Array = NDArray[Any]
Kind = Literal["statistics", "sketch", "md5", "tensor"]
KINDS: tuple[Kind, ...] = ("statistics", "sketch", "md5", "tensor")
STEPS, RANKS = (0, 1), (0, 1)
# The files of a dump by their paths below it: JSON as objects, tensors as arrays.
Files = dict[str, Any]
_DTYPES = {"f": "torch.float32", "i": "torch.int64", "b": "torch.bool"}


def recorded_run(kind: Kind, seed: int = 0) -> Files:
    """All files of the run; every rank holds the same parameters, as data parallel ranks do."""
    files: Files = {}
    for step in STEPS:
        shared = np.random.default_rng([seed, step])
        weights = {name: shared.standard_normal((4, 4)) for name in ("weight", "bias")}
        drawn = [np.random.default_rng([seed, step, rank, 1]) for rank in RANKS]
        inputs = [chance.standard_normal((4, 4)) for chance in drawn]
        for rank in RANKS:
            tensors = _Tensors(kind, f"step{step}/rank{rank}")
            data = _calls(tensors, weights, inputs, rank)
            files |= tensors.files | _json_files(tensors, data, rank)
    return files


def write_run(files: Mapping[str, Any], folder: Path) -> None:
    """Write a run below a folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, np.ndarray):
            np.save(path, content)
        else:
            path.write_text(content if isinstance(content, str) else json.dumps(content))


class _Tensors:
    """Makes the records of tensors, and their files where the dump has such."""

    def __init__(self, kind: Kind, folder: str) -> None:
        self.kind, self.folder = kind, folder
        self.files: Files = {}
        self._count = 0

    def of(self, values: Array, dtype: str = "") -> Json:
        values = np.asarray(values)
        is_float = values.dtype.kind == "f"
        record: Json = {
            "type": "torch.Tensor",
            "dtype": dtype or _DTYPES[values.dtype.kind],
            "shape": list(values.shape),
            "requires_grad": is_float,
        }
        record |= {"Max": None, "Min": None, "Mean": None, "Norm": None}
        if self.kind == "md5":
            record["md5"] = hashlib.md5(values.tobytes()).hexdigest()[:8]
        elif values.size:
            record |= _statistics(values)
        if self.kind == "sketch" and values.dtype.kind != "b" and values.size:
            record["sketch"] = _sketch(values)
        if self.kind == "tensor":
            name = f"value{self._count}.npy"
            self._count += 1
            stored = values.astype(np.float32) if is_float else values
            self.files[f"{self.folder}/dump_tensor_data/{name}"] = stored
            record["data_name"] = name
        return record


def _statistics(values: Array) -> Json:
    ends = {"Max": values.max().item(), "Min": values.min().item()}
    if values.dtype.kind != "f":
        return ends
    return {**ends, "Mean": values.mean().item(), "Norm": float(np.linalg.norm(values))}


def _sketch(values: Array) -> str:
    """Eight projections on signs, as docs/formats.md has them but for how signs are drawn."""
    flat = values.astype(np.float64).reshape(-1)
    signs = np.random.default_rng(flat.size).choice([-1.0, 1.0], (8, flat.size))
    return (signs @ flat).astype("<f4").tobytes().hex()


def _calls(
    made: _Tensors, weights: Mapping[str, Array], inputs: list[Array], rank: int
) -> dict[str, Json]:
    """A layer, what is made of it, its loss, and its update by the gradients of both ranks."""
    x, ids = inputs[rank], np.arange(6) * 3 % 5
    weight, bias = weights["weight"], weights["bias"][0]
    hidden = x @ weight.T + bias
    gated, loss = np.maximum(hidden, 0), np.asarray(np.square(hidden).mean())
    gradient = 2 * hidden / hidden.size
    shares = [(2 * (each @ weight.T + bias) / hidden.size).T @ each for each in inputs]
    parameters = {"weight": made.of(weight), "bias": made.of(bias)}
    group = {"type": "torch.ProcessGroup", "group_ranks": list(RANKS)}
    summed = sum(shares)
    return {
        "Functional.embedding.0.forward": _call(
            [made.of(ids), made.of(weight)], [made.of(x)], padding_idx=_argument(3)
        ),
        "Functional.linear.0.forward": _call(
            [made.of(x), made.of(weight), made.of(bias)], [made.of(hidden)]
        ),
        "Module.fc.Linear.forward.0": _call([made.of(x)], [made.of(hidden)], parameters),
        "Functional.relu.0.forward": _call(
            [made.of(hidden)], [made.of(gated)], inplace=_argument(False)
        ),
        "Functional.dropout.0.forward": _call(
            [made.of(gated)], [made.of(gated)], p=_argument(0.25), training=_argument(True)
        ),
        "Torch.masked_fill.0.forward": _call(
            [made.of(gated)], [made.of(gated)], mask=made.of(hidden > 0), value=_argument(0.5)
        ),
        "Tensor.bfloat16.0.forward": _call(
            [made.of(gated), _argument("torch.bfloat16", "torch.dtype"), None],
            [made.of(gated, "torch.bfloat16")],
        ),
        "Torch.split.0.forward": _call(
            [made.of(gated), _argument(2)], [[made.of(gated[:2]), made.of(gated[2:])]]
        ),
        "Torch.narrow.0.forward": _call([made.of(gated)], [made.of(gated[:0]), None]),
        "Torch.sum.0.forward": _call(
            [made.of(gated), _argument([0, 1], "list")], [made.of(gated.sum(0))]
        ),
        "Functional.mse_loss.0.forward": _call(
            [made.of(hidden), made.of(np.zeros((4, 4)))],
            [made.of(loss)],
            reduction=_argument("mean"),
        ),
        "Module.fc.Linear.backward.0": {
            "input": [made.of(gradient)],
            "output": [made.of(gradient @ weight)],
        },
        "Module.fc.Linear.parameters_grad.0": {
            "weight": [made.of(shares[rank])],
            "bias": [made.of(gradient.sum(0))],
        },
        "Distributed.all_reduce.0.forward": _call(
            [made.of(shares[rank])], [made.of(summed)], group=group, op=_argument("sum")
        ),
        "Optimizer.AdamW.fc.weight.0.forward": {
            "input": {"gradient": made.of(summed)},
            "parameters": {"value": made.of(weight)},
            "output": {"value": made.of(weight - 0.125 * summed)},
        },
    }


def _argument(value: object, kind: str | None = None) -> Json:
    return {"type": kind or type(value).__name__, "value": value}


def _call(
    inputs: list[Json | None], outputs: list[Any], parameters: Json | None = None, **named: Json
) -> Json:
    entry: Json = {"input_args": inputs, "input_kwargs": named, "output": outputs}
    return entry if parameters is None else {**entry, "parameters": parameters}


_PARENTS = {"Functional.linear.0.forward": "Module.fc.Linear.forward.0"}


def _json_files(made: _Tensors, data: Json, rank: int) -> Files:
    axes = {"dp": {"rank": rank, "size": len(RANKS), "ranks": list(RANKS)}}
    head: Json = {
        "task": "tensor" if made.kind == "tensor" else "statistics",
        "level": "mix",
        "framework": "pytorch",
        "dump_data_dir": None,
        "parallel": {"version": 1, "world_size": len(RANKS), "rank": rank, "axes": axes},
    }
    if made.kind == "sketch":
        head["sketch_version"] = SKETCH_VERSION
    return {
        f"{made.folder}/dump.json": {**head, "data": data},
        f"{made.folder}/construct.json": {name: _PARENTS.get(name) for name in data},
        f"{made.folder}/stack.json": {},
    }
