"""What is left out of a comparison of two frameworks: the inside of layers, the optimizer."""

from __future__ import annotations

from pathlib import Path

from builder.dump.reader import Dump, read_dump
from builder.match.frameworks.alike import comparable_parts
from tests.builder.dumps import forward, tensor, write_dump


def dump(folder: Path, parents: dict[str, str | None], framework: str) -> Dump:
    data: dict[str, object] = {name: forward([tensor()], [tensor()]) for name in parents}
    return read_dump(write_dump(folder, data, parents, framework=framework))


def kept(folder: Path, ours: dict[str, str | None], theirs: dict[str, str | None]) -> list[str]:
    sides = dump(folder / "p", ours, "mindspore"), dump(folder / "b", theirs, "pytorch")
    problem, _ = comparable_parts(*sides)
    assert list(problem.parents) == list(problem.ranges)
    return list(problem.ranges)


def test_calls_inside_a_layer_are_its_implementation(tmp_path: Path) -> None:
    ours = {
        "Cell.mlp.Mlp.forward.0": None,
        "Cell.mlp.fc.Dense.forward.0": "Cell.mlp.Mlp.forward.0",
        "Primitive.matmul.MatMul.0.forward": "Cell.mlp.fc.Dense.forward.0",
        "Tensor.__add__.0.forward": "Cell.mlp.Mlp.forward.0",
        "Primitive.matmul.MatMul.0.backward": None,
    }
    theirs = {"Module.mlp.fc.Linear.forward.0": None}
    assert kept(tmp_path, ours, theirs) == [
        "Cell.mlp.Mlp.forward.0",
        "Cell.mlp.fc.Dense.forward.0",
        "Tensor.__add__.0.forward",
    ]


def test_modules_inside_on_both_sides_are_a_users_own(tmp_path: Path) -> None:
    ours: dict[str, str | None] = {
        "Cell.embed.Embedding.forward.0": None,
        "Cell.embed.words.Embedding.forward.0": "Cell.embed.Embedding.forward.0",
    }
    theirs: dict[str, str | None] = {
        "Module.embed.Embedding.forward.0": None,
        "Module.embed.words.Embedding.forward.0": "Module.embed.Embedding.forward.0",
    }
    assert kept(tmp_path, ours, theirs) == list(ours)


def test_modules_inside_a_layer_on_one_side_alone_are_its_implementation(tmp_path: Path) -> None:
    ours: dict[str, str | None] = {
        "Cell.fc.Dense.forward.0": None,
        "Cell.fc.activation.ReLU.forward.0": "Cell.fc.Dense.forward.0",
    }
    theirs: dict[str, str | None] = {"Module.fc.Linear.forward.0": None}
    assert kept(tmp_path, ours, theirs) == ["Cell.fc.Dense.forward.0"]


def test_a_layer_stands_for_what_the_other_side_wrote_out(tmp_path: Path) -> None:
    ours: dict[str, str | None] = {
        "Cell.fc.OwnLinear.forward.0": None,
        "Mint.matmul.0.forward": "Cell.fc.OwnLinear.forward.0",
    }
    theirs: dict[str, str | None] = {"Module.fc.Linear.forward.0": None}
    assert kept(tmp_path, ours, theirs) == ["Cell.fc.OwnLinear.forward.0"]


def test_the_optimizer_is_left_out_and_circles_end(tmp_path: Path) -> None:
    ours: dict[str, str | None] = {
        "Tensor.sub.0.forward": "optimizer",
        "Mint.a.0.forward": "Mint.b.0.forward",
        "Mint.b.0.forward": "Mint.a.0.forward",
    }
    assert kept(tmp_path, ours, {}) == ["Mint.a.0.forward", "Mint.b.0.forward"]
