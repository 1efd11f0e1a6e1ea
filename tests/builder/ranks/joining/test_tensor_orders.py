"""What tensors tell of parts whose statistics agree: orders, copies, and what is left of a sum."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from builder import BuildOptions, build, diagnose
from builder.dump.reader import read_dump
from builder.ranks.assembly.assemble import assemble
from builder.ranks.joining.layouts import AxisLayout, Candidate
from builder.ranks.joining.part_tensors import repeats_itself
from builder.ranks.layout.coordinates import Place, RunLayout
from tests.builder.dumps import saved_tensor

Numbers = NDArray[Any]
Entries = dict[str, tuple[list[Numbers], list[Numbers]]]
_GENERATOR = np.random.default_rng(0)
_LINEAR = "Functional.linear.0.forward"
_SUM = "Distributed.all_reduce.0.forward"
_LOSS = "Functional.cross_entropy.0.forward"


def _saved(values: Numbers, folder: Path, name: str) -> dict[str, Any]:
    record = saved_tensor(values, folder, name)
    if np.issubdtype(values.dtype, np.integer):
        return {**record, "dtype": "torch.int64", "Mean": None, "Norm": None}
    return {**record, "dtype": "torch.bfloat16"}


def _run(root: Path, axis: str, ranks: list[Entries], construct: dict[str, str | None]) -> Path:
    """A step of tensors on so many ranks along an axis: by entry what is read and put out."""
    size = len(ranks)
    for rank, entries in enumerate(ranks):
        folder = root / "step0" / f"rank{rank}"
        folder.mkdir(parents=True)
        data = {}
        for name, (read, made) in entries.items():
            inputs = [_saved(v, folder, f"{name}.input.{at}") for at, v in enumerate(read)]
            outputs = [_saved(v, folder, f"{name}.output.{at}") for at, v in enumerate(made)]
            data[name] = {"input_args": inputs, "input_kwargs": {}, "output": outputs}
        head: dict[str, Any] = {"task": "tensor", "level": "mix", "framework": "pytorch"}
        axes = {axis: {"rank": rank, "size": size, "ranks": [*range(size)]}} if size > 1 else {}
        head["parallel"] = {"version": 1, "world_size": size, "rank": rank, "axes": axes}
        (folder / "dump.json").write_text(json.dumps({**head, "data": data}))
        (folder / "construct.json").write_text(json.dumps(construct))
    return root


def _normal(*shape: int) -> Numbers:
    return np.asarray(_GENERATOR.normal(size=shape).astype(np.float32))


@pytest.mark.parametrize("share", [0.02, 0.12, 0.16, 0.5])
def test_a_part_without_its_bias_is_not_held_against_a_whole_with_it(
    tmp_path: Path, share: float
) -> None:
    """A layer whose ranks add the bias behind their sum, beside one that adds it in the product."""
    read, parts = _normal(16, 8), [_normal(16, 32), _normal(16, 32)]
    product = parts[0] + parts[1]
    bias = _normal(32)
    bias -= bias.mean()  # of which the mean of the whole would tell
    bias *= share * np.linalg.norm(product) / np.linalg.norm(np.broadcast_to(bias, product.shape))
    whole = product + bias
    own, other = "Module.m.RowParallelLinear.forward.0", "Module.m.Linear.forward.0"
    ours: list[Entries] = [
        {_LINEAR: ([half], [part]), _SUM: ([part], [product]), own: ([half], [whole])}
        for half, part in zip(np.split(read, 2, 1), parts, strict=True)
    ]
    theirs: Entries = {_LINEAR: ([read], [whole]), other: ([read], [whole])}
    problem = _run(tmp_path / "p", "tp", ours, {own: None, _LINEAR: own, _SUM: own})
    benchmark = _run(tmp_path / "b", "tp", [theirs], {other: None, _LINEAR: other})
    made = build(problem, benchmark, tmp_path / "out", BuildOptions(workers=1))
    assert [outcome.error for outcome in made.outcomes] == [None]
    assert diagnose(made.path).findings == []
    assert bool(made.outcomes[0].set_aside) is (share > 0.1)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_labels_of_another_share_of_the_batch_are_other_labels(
    tmp_path: Path, order: tuple[int, int]
) -> None:
    """Both shares have the same extremes, which alone are recorded of whole numbers."""
    logits = _normal(12, 7)
    labels = np.array([0, 1, 2, 3, 4, 6, 6, 5, 3, 2, 1, 0], dtype=np.int64)
    loss = np.float32(2.5) * np.ones((), dtype=np.float32)
    halves = np.split(labels, 2)
    ours: list[Entries] = [
        {_LOSS: ([half, halves[at]], [loss])}
        for half, at in zip(np.split(logits, 2), order, strict=True)
    ]
    problem = _run(tmp_path / "p", "dp", ours, {_LOSS: None})
    theirs: Entries = {_LOSS: ([logits, labels], [loss])}
    benchmark = _run(tmp_path / "b", "dp", [theirs], {_LOSS: None})
    made = build(problem, benchmark, tmp_path / "out", BuildOptions(workers=1))
    found = [finding.node for finding in diagnose(made.path).findings]
    assert found == ([] if order == (0, 1) else [_LOSS])


def test_an_order_that_divides_no_part_is_none_of_them(tmp_path: Path) -> None:
    """Rows of a batch of four, and of two, in which parts of six and of three do not go up."""
    name, batch = "Tensor.mul.0.forward", _normal(8, 5, 2)
    values = _normal(12, 5)
    moved = values[_GENERATOR.permutation(12)]
    runs = []
    for side, whole, size in (("p", moved, 2), ("b", values, 4)):
        parts = zip(np.split(batch, size), np.split(whole, size), strict=True)
        ranks: list[Entries] = [{name: ([own], [part])} for own, part in parts]
        runs.append(_run(tmp_path / side, "dp", ranks, {name: None}))
    made = build(*runs, tmp_path / "out", BuildOptions(workers=1))
    assert [outcome.error for outcome in made.outcomes] == [None]


def test_whole_numbers_in_another_order_are_no_copies(tmp_path: Path) -> None:
    name = "Tensor.argsort.0.forward"
    for other in (False, True):
        numbers = np.arange(6, dtype=np.int64)
        second = numbers[::-1].copy() if other else numbers
        ranks: list[Entries] = [{name: ([], [numbers])}, {name: ([], [second])}]
        root = _run(tmp_path / str(other), "dp", ranks, {name: None})
        dumps = {rank: read_dump(root / "step0" / f"rank{rank}") for rank in (0, 1)}
        places = {rank: Place(rank, {"dp": rank}) for rank in (0, 1)}
        run = assemble(dumps, RunLayout({"dp": 2}, places), 1, join=True)
        copies = Candidate((AxisLayout("dp", 2, "R", 0),), (6,), 0.0)
        behind = Candidate((AxisLayout("dp", 2, "S", 0),), (12,), 0.0)
        assert repeats_itself(run, 0, copies) is not other
        assert repeats_itself(run, 0, behind)
