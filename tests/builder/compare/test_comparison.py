"""What two trees with unusual values compare as: zero norms, text, null, moved tensor files."""

from __future__ import annotations

import json
import shutil
from math import isnan
from pathlib import Path

import pytest

from builder.compare.comparison import Comparison, compare
from builder.compare.score import Tolerance
from builder.dump.reader import read_dump
from builder.match.nodes import match_trees
from builder.match.tree import build_tree
from tests.builder.dumps import Json, forward, tensor, write_dump

CALL = "Torch.one.0.forward"


def compared(tmp_path: Path, ours: Json, theirs: Json) -> Comparison:
    sides = (("p", ours), ("b", theirs))
    trees = [
        build_tree(read_dump(write_dump(tmp_path / side, {CALL: forward([], [value])})))
        for side, value in sides
    ]
    return compare(match_trees(*trees), Tolerance())


def score(tmp_path: Path, ours: Json, theirs: Json) -> float:
    return float(compared(tmp_path, ours, theirs).scores.score[0])


ZERO = tensor(0.0)
EMPTY = tensor(Max=None, Min=None, Mean=None, Norm=None, shape=[0])


def test_anything_beside_a_norm_of_zero_is_a_full_error(tmp_path: Path) -> None:
    assert score(tmp_path, tensor(1e-3), ZERO) == 1.0
    assert score(tmp_path / "zeros", ZERO, ZERO) == 0.0


def test_text_counts_as_the_number_it_says(tmp_path: Path) -> None:
    text = tensor(Max="inf", Norm="inf")
    number = tensor(Max=float("inf"), Norm=float("inf"))
    assert score(tmp_path, text, number) == 0.0
    assert score(tmp_path / "one side", text, tensor()) == 1.0


def test_values_without_statistics_compare_as_nothing(tmp_path: Path) -> None:
    assert isnan(score(tmp_path, EMPTY, EMPTY))


def test_what_one_side_lacks_is_left_out(tmp_path: Path) -> None:
    assert score(tmp_path, tensor(Max=None), tensor()) == 0.0
    assert score(tmp_path / "norm", tensor(4.0, Max=None), tensor()) == 1.0


@pytest.mark.parametrize("stale", ["/no/such/place", ""])
def test_tensors_are_found_where_the_dump_lies_now(
    samples: Path, tmp_path: Path, stale: str
) -> None:
    trees = []
    for side in ("problem", "bench"):
        folder = tmp_path / "mövéd + 移动" / side
        shutil.copytree(next((samples / "tensor" / side / "step0").iterdir()), folder)
        file = folder / "dump.json"
        file.chmod(0o644)
        content = json.loads(file.read_text())
        file.write_text(json.dumps({**content, "dump_data_dir": stale}))
        trees.append(build_tree(read_dump(folder)))
    found = compare(match_trees(*trees), Tolerance())
    assert found.mode == "tensor"
    assert len(found.elements.tensors) > 100
    assert found.elements.unreadable == {}
