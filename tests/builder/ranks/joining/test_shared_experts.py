"""Experts that two runs gave unlike numbers of tokens: by ties, or by a fault."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from builder import BuildOptions, build, diagnose
from builder.dump.reader import read_dump
from builder.ranks.assembly.assemble import assemble
from builder.ranks.joining.parts import RunValues
from builder.ranks.joining.shared_experts import (
    exchanged_share,
    moved_share,
    share_of_ties,
    spread_unseen,
)
from builder.ranks.layout.coordinates import Place, RunLayout

_EXPERT = "Module.mlp.experts.{}.Linear.forward.0"


def _tensor(shape: list[int], norm: float, dtype: str) -> dict[str, Any]:
    numbers = {"Max": 2.0, "Min": -1.0, "Mean": 0.25, "Norm": norm}
    return {"type": "torch.Tensor", "dtype": dtype, "shape": shape, **numbers}


def _run(root: Path, tokens: list[int], ranks: int, dtype: str) -> Path:
    """Two experts with so many tokens each, on one rank or on two."""
    share = 2 // ranks
    for rank in range(ranks):
        folder = root / "step0" / f"rank{rank}"
        folder.mkdir(parents=True)
        data = {}
        for local in range(share):
            rows = tokens[rank * share + local]
            values = _tensor([rows, 8], 5.0 * rows**0.5, dtype)
            entry = {"input_args": [values], "input_kwargs": {}, "output": [values]}
            entry["parameters"] = {"weight": _tensor([8, 8], 3.0 + rank * share + local, dtype)}
            data[_EXPERT.format(local)] = entry
        head: dict[str, Any] = {"task": "statistics", "level": "mix", "framework": "pytorch"}
        if ranks > 1:
            axes = {
                name: {"rank": rank, "size": ranks, "ranks": list(range(ranks))}
                for name in ("dp", "ep")
            }
            head["parallel"] = {
                "version": 1,
                "world_size": ranks,
                "rank": rank,
                "axes": axes,
                "experts": {"first": rank * share, "count": share},
            }
        (folder / "dump.json").write_text(json.dumps({**head, "data": data}))
        (folder / "construct.json").write_text(json.dumps(dict.fromkeys(data)))
    return root


def _findings(folder: Path, ours: list[int], theirs: list[int], dtype: str) -> list[str]:
    problem = _run(folder / "p", ours, 2, f"torch.{dtype}")
    benchmark = _run(folder / "b", theirs, 1, f"torch.{dtype}")
    made = build(problem, benchmark, folder / "out", BuildOptions(workers=1))
    assert [outcome.error for outcome in made.outcomes] == [None]
    return [f.node for f in diagnose(made.path).findings]


@pytest.mark.parametrize(
    ("dtype", "moved", "is_silent"),
    [
        ("bfloat16", 0, True),
        ("bfloat16", 1, True),
        ("bfloat16", 12, False),  # of 20: no tie explains as many
        ("float16", 1, True),
        ("float32", 1, False),  # rounding of 1e-7 decides nothing among 40 tokens
    ],
)
def test_ties_are_told_from_faults(dtype: str, moved: int, is_silent: bool, tmp_path: Path) -> None:
    found = _findings(tmp_path, [20 - moved, 20 + moved], [20, 20], dtype)
    assert (found == []) is is_silent, found


def test_the_share_of_moved_tokens_is_that_of_the_layer_with_most() -> None:
    tokens = {
        "layers.0.experts.0": (10, 10),
        "layers.0.experts.1": (30, 30),
        "layers.1.experts.0": (12, 10),
        "layers.1.experts.1": (28, 30),
    }
    assert moved_share(tokens) == pytest.approx(2 / 40)
    assert moved_share({"layers.0.experts.0": (0, 0)}) == 0.0


def test_exchanged_tokens_are_counted_where_ties_explain_them() -> None:
    rounding = np.full(2, 2.0**-8)
    # One of 192 choices went from expert 1 to 3, whose squared distance is 4 of what is counted.
    assert exchanged_share(np.array([0.0, 3.6]), 192, rounding) == pytest.approx(4 / 192)
    # Half of them are no ties, but another router.
    assert exchanged_share(np.array([0.0, 96.0]), 192, rounding) == 0.0
    assert exchanged_share(np.zeros(0), 0, np.zeros(0)) == 0.0


def test_what_ties_may_have_moved_unseen_is_behind_routers_and_their_experts(
    tmp_path: Path,
) -> None:
    names = {
        "Module.layers.0.router.Router.forward.0": None,
        "Tensor.topk.0.forward": "Module.layers.0.router.Router.forward.0",
        "Module.layers.0.mlp.experts.1.Linear.backward.0": None,
        "Tensor.t.0.backward": "Module.layers.0.router.Router.backward.0",
        "Module.layers.0.mlp.experts.1.Linear.parameters_grad.0": None,
        "Module.layers.0.attention.Attention.backward.0": None,
        "Module.layers.1.mlp.experts.1.Linear.backward.0": None,
    }
    head = {"task": "statistics", "level": "mix", "framework": "pytorch"}
    data = {name: {"output": [_tensor([2, 2], 1.0, "torch.float32")]} for name in names}
    folder = tmp_path / "step0" / "rank0"
    folder.mkdir(parents=True)
    (folder / "dump.json").write_text(json.dumps({**head, "data": data}))
    (folder / "construct.json").write_text(json.dumps(names))
    run = assemble({0: read_dump(folder)}, RunLayout({}, {0: Place(0, {})}), 1, join=True)
    router = "Module.layers.0.router.Router.forward.0"
    assert set(spread_unseen({router: 0.1}, RunValues(run))) == {
        "Module.layers.0.mlp.experts.1.Linear.backward.0",
        "Tensor.t.0.backward",
        "Module.layers.0.mlp.experts.1.Linear.parameters_grad.0",
    }
    assert share_of_ties(192, 2.0**-8) < 0.1 < share_of_ties(192, 2.0**-4)
