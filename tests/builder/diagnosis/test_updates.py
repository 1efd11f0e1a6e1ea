"""What the optimizer handed on, and agreed where it was made, is for the next step to inherit."""

from __future__ import annotations

from pathlib import Path

import pytest

from builder.diagnosis.blame import Walked
from tests.builder.diagnosis.small_runs import Entries, walked
from tests.builder.dumps import backward, forward, tensor

HALF = {"dtype": "torch.bfloat16"}
BLOCKS = 16  # the tolerance behind so many is 1.6 times the one before them
BETWEEN = 0.09  # a relative error that agrees behind them, and diverges before them
UPDATE = "Tensor.add_.0.forward"


def step(off: float, alpha: float = 0.5, extra: bool = False) -> Entries:
    """A backward pass, then an update of a bias by a gradient that is off."""
    flowing = tensor(1, **HALF)
    gradient, bias = tensor(2 + 2 * off, **HALF), tensor(5 + 5 * off, **HALF)
    update = {**forward([tensor(0, **HALF), gradient], [bias])}
    update["input_kwargs"] = {"alpha": {"type": "float", "value": alpha}}
    more = {"Tensor.mul_.0.forward": forward([flowing], [flowing])} if extra else {}
    blocks = [f"Module.layers.{number}.Block" for number in range(BLOCKS)]
    return {
        **{f"{block}.forward.0": forward([flowing], [flowing]) for block in blocks},
        **{f"{block}.backward.0": backward([flowing], [flowing]) for block in reversed(blocks)},
        **more,
        UPDATE: update,
    }


def left_behind(result: Walked) -> list[object]:
    assert result.findings == []
    return [highest for highest, *_ in result.tolerated]  # type: ignore[misc]


def test_an_update_that_agrees_behind_many_blocks_is_left_to_the_next_step(tmp_path: Path) -> None:
    (highest,) = left_behind(walked(tmp_path, step(BETWEEN), step(0)))
    assert highest == pytest.approx(0.75 * 5 * (1 + BETWEEN))


def test_an_update_that_agrees_everywhere_need_not_be(tmp_path: Path) -> None:
    assert left_behind(walked(tmp_path, step(BETWEEN / 2), step(0))) == []


@pytest.mark.parametrize("other", [{"alpha": 0.45}, {"extra": True}])
def test_an_optimizer_that_was_called_otherwise_leaves_nothing(
    tmp_path: Path, other: dict[str, float]
) -> None:
    assert left_behind(walked(tmp_path, step(BETWEEN), step(0, **other))) == []
