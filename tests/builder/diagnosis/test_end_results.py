"""Losses, outermost outputs and gradients that differ by more than rounding: facts of a build."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import builder
from builder.work.options import BuildOptions
from builder.work.outcome import PairOutcome
from tests.builder.dumps import Json, backward, forward, tensor, write_dump

INNER, LAYER = "Functional.linear.0.forward", "Module.layer.Linear.forward.0"
LOSS, UPDATE = "Functional.mse_loss.0.forward", "Tensor.add_.0.forward"
GRADIENT = "Module.layer.Linear.parameters_grad"
MODULES = {INNER: LAYER, LAYER: None, LOSS: None, GRADIENT: None}


def step(inner: float = 3.0, out: float = 5.0, loss: float = 7.0, gradient: float = 9.0) -> Json:
    """A layer whose call inside puts out `inner`, its loss and the gradient of its weight."""
    single = {"shape": [], "Max": loss, "Min": loss, "Mean": loss}
    return {
        INNER: forward([tensor(2.0)], [tensor(inner)]),
        LAYER: forward([tensor(2.0)], [tensor(out)]),
        LOSS: forward([tensor(out)], [tensor(loss, **single)]),
        "Module.layer.Linear.backward.0": backward([tensor(11.0)], [tensor(12.0)]),
        GRADIENT: {"weight": [tensor(gradient)]},
    }


def outcome(tmp_path: Path, ours: Json, theirs: Json) -> tuple[PairOutcome, Path]:
    for side, data in (("p", ours), ("b", theirs)):
        write_dump(tmp_path / side / "step0" / "rank0", data, MODULES)
    options = BuildOptions(workers=1)
    made = builder.build(tmp_path / "p", tmp_path / "b", tmp_path / "o", options)
    return made.outcomes[0], made.path


def test_each_kind_of_end_result_is_told(tmp_path: Path) -> None:
    told, _ = outcome(tmp_path, step(out=6.0, loss=7.1, gradient=9.9), step())
    assert told.ends.count == 3
    by_role = {end.role: (end.name, end.value) for end in told.ends.worst}
    assert by_role == {
        "output": (LAYER, "output.0"),
        "loss": (LOSS, "output.0"),
        "gradient": (GRADIENT, "parameters_grad.weight"),
    }
    assert [e.score for e in told.ends.worst] == sorted(e.score for e in told.ends.worst)[::-1]


def test_what_agrees_to_rounding_or_lies_inside_is_none(tmp_path: Path) -> None:
    told, path = outcome(tmp_path, step(inner=4.0, loss=7.0 * (1 + 1e-7)), step())
    assert told.ends.count == 0
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT 1 FROM meta WHERE key = 'ends'").fetchall() == []


def test_the_file_keeps_them(tmp_path: Path) -> None:
    _, path = outcome(tmp_path, step(loss=8.0), step())
    with closing(sqlite3.connect(path)) as connection:
        (text,) = connection.execute("SELECT value FROM meta WHERE key = 'ends'").fetchone()
    kept = json.loads(text)
    assert kept["count"] == 1
    (end,) = kept["worst"]
    assert (end["step"], end["rank"], end["name"], end["role"]) == (0, 0, LOSS, "loss")
    assert end["score"] > 0.5
