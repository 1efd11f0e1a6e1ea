"""Weights that one run stores the other way round are compared as the other stores them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from builder import BuildOptions, build, diagnose
from tests.builder.dumps import saved_tensor

Floats = NDArray[np.float32]
_RANDOM = np.random.default_rng(0)
_OBLONG = _RANDOM.normal(size=(6, 4)).astype(np.float32)
_SQUARE = _RANDOM.normal(size=(4, 4)).astype(np.float32)


def _run(root: Path, task: str, class_name: str, ranks: list[dict[str, Floats]]) -> Path:
    for rank, weights in enumerate(ranks):
        folder = root / "step0" / f"rank{rank}"
        folder.mkdir(parents=True)
        names = {path: f"Module.{path}.{class_name}.forward.0" for path in weights}
        data = {
            names[path]: {
                "input_args": [],
                "input_kwargs": {},
                "parameters": {"weight": saved_tensor(weight, folder, f"{names[path]}.parameters")},
                "output": [saved_tensor(np.ones((2, 3), dtype=np.float32), folder, names[path])],
            }
            for path, weight in weights.items()
        }
        axes = {"tp": {"rank": rank, "size": len(ranks), "ranks": list(range(len(ranks)))}}
        head = {"task": task, "level": "mix", "framework": "pytorch"}
        parallel = {"world_size": len(ranks), "rank": rank, "axes": axes}
        (folder / "dump.json").write_text(json.dumps({**head, "parallel": parallel, "data": data}))
        (folder / "construct.json").write_text(json.dumps(dict.fromkeys(data)))
    return root


def _findings(folder: Path, task: str, ours: dict[str, Floats]) -> tuple[list[str], int]:
    """The findings of two ranks with rows of weights against one with transposed weights."""
    shares = [{path: np.split(w, 2)[rank] for path, w in ours.items()} for rank in (0, 1)]
    whole = {path: (_OBLONG if path == "up" else _SQUARE).T.copy() for path in ours}
    problem = _run(folder / "p", task, "Linear", shares)
    benchmark = _run(folder / "b", task, "Conv1D", [whole])
    made = build(problem, benchmark, folder / "out", BuildOptions(workers=1))
    assert made.outcomes[0].error is None
    return [f.node for f in diagnose(made.path).findings], made.values["compared"]


@pytest.mark.parametrize("task", ["statistics", "tensor"])
def test_a_weight_that_is_stored_the_other_way_round_is_compared(task: str, tmp_path: Path) -> None:
    assert _findings(tmp_path, task, {"up": _OBLONG}) == ([], 2)


@pytest.mark.parametrize("task", ["statistics", "tensor"])
def test_one_that_is_off_is_found(task: str, tmp_path: Path) -> None:
    changed = _OBLONG.copy()
    changed[5, 1] += 3.0
    assert _findings(tmp_path, task, {"up": changed})[0] == ["Module.up.Linear.forward.0"]


def test_a_square_one_is_stored_as_the_others_of_its_class(tmp_path: Path) -> None:
    assert _findings(tmp_path, "tensor", {"up": _OBLONG, "out": _SQUARE}) == ([], 4)


def test_a_square_one_of_a_layer_that_was_not_turned_is_found(tmp_path: Path) -> None:
    layers = {f"layers.{number}.out": _SQUARE for number in range(3)}
    layers["layers.1.out"] = _SQUARE.T.copy()
    found, _ = _findings(tmp_path, "tensor", {"up": _OBLONG, **layers})
    assert found == ["Module.layers.1.out.Linear.forward.0"]
