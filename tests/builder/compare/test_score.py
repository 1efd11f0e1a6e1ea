"""The score: monotone, 0 inside the tolerance, 1 at full error, wider for coarse formats."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.compare.score import (
    THRESHOLD,
    Tolerance,
    base_precision,
    block_depths,
    coarsest_epsilon,
    score_of,
)
from builder.dump.reader import read_dump
from builder.match.tree import build_tree
from tests.builder.dumps import write_dump

TOLERANCE = st.floats(1e-8, 0.5)


def score(error: float, tolerance: float) -> float:
    return float(score_of(np.array([error]), np.array([tolerance]))[0])


@given(TOLERANCE)
def test_the_ends_of_the_scale(tolerance: float) -> None:
    assert score(0.0, tolerance) == 0.0
    assert score(tolerance, tolerance) == pytest.approx(0.0, abs=1e-12)
    assert score(1.0, tolerance) == pytest.approx(1.0)
    assert score(float("inf"), tolerance) == 1.0
    assert score(tolerance**0.5, tolerance) == pytest.approx(0.5)
    assert np.isnan(score(float("nan"), tolerance))


@given(TOLERANCE, st.floats(0, 10), st.floats(0, 10))
def test_a_larger_error_never_scores_less(tolerance: float, one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert score(low, tolerance) <= score(high, tolerance)


@pytest.mark.parametrize("epsilon", [2.0**-23, 2.0**-10, 2.0**-7, 0.5])
def test_no_depth_or_format_lets_half_of_a_value_pass(epsilon: float) -> None:
    depth = np.arange(0.0, 400.0)
    tolerance = Tolerance().of(depth, np.full_like(depth, epsilon))
    assert (tolerance < 1).all()
    assert (np.diff(tolerance) >= 0).all()
    assert (score_of(np.full_like(depth, 0.5 + 1e-9), tolerance) > THRESHOLD).all()
    assert score_of(np.ones_like(depth), tolerance) == pytest.approx(1.0)


def test_shallow_stacks_have_the_tolerance_of_the_law() -> None:
    depth = np.arange(0.0, 80.0)
    law = 4.0 * 1.03**depth * 2.0**-7
    assert Tolerance().of(depth, np.full_like(depth, 2.0**-7)) == pytest.approx(law)


def test_the_base_precision_is_what_most_floating_values_carry() -> None:
    kinds = ["torch.bfloat16"] * 3 + ["torch.float32"] * 2 + ["torch.int64"] * 9
    assert base_precision((kind, 1) for kind in kinds) == "bfloat16"
    assert base_precision([("torch.int64", 9), ("torch.float16", 0), (None, 3)]) == "float32"


def test_the_coarsest_format_sets_the_epsilon() -> None:
    assert coarsest_epsilon(["torch.float32", "BFloat16", None]) == 2.0**-7
    assert coarsest_epsilon(["torch.float8_e4m3fn", "torch.float32"]) == 2.0**-7
    assert coarsest_epsilon(["torch.int64", None]) == 2.0**-23
    assert coarsest_epsilon(["torch.float64", "torch.float64"]) == 2.0**-52


def test_depth_counts_the_outermost_repeated_blocks_of_each_pass(tmp_path: Path) -> None:
    def block(i: int, way: str) -> str:
        return f"Module.layers.{i}.Block.{way}.0"

    inner = "Module.layers.1.experts.0.Expert.forward.0"
    construct = {
        block(0, "forward"): None,
        inner: block(1, "forward"),
        block(1, "forward"): None,
        "Module.head.Linear.forward.0": None,
        block(1, "backward"): None,
        block(0, "backward"): None,
    }
    found = build_tree(read_dump(write_dump(tmp_path, {}, construct)))
    depths = {node.name: depth for node, depth in zip(found.in_order, block_depths(found))}
    assert [depths[block(i, "forward")] for i in (0, 1)] == [1, 2]
    assert depths[inner] == 2
    assert depths["Module.head.Linear.forward.0"] == 2
    assert [depths[block(i, "backward")] for i in (1, 0)] == [1, 2]


def test_a_thousand_blocks_excuse_no_more_than_a_deep_model() -> None:
    depths = np.array([0.0, 10.0, 128.0, 1000.0])
    grown = Tolerance(factor=1.0, growth=1.03).grown(depths)
    assert grown[:2] == pytest.approx([1.0, 1.03**10])
    assert grown[3] == grown[2]
