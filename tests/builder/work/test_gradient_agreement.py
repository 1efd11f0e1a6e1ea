"""When all gradients of a step may be said to agree: where ranks reduce, those optimizers read."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from builder.compare.comparison import Comparison
from builder.work.summary import _gradients_agree

NAN = float("nan")


def _comparison(held: float, read: float | None) -> Comparison:
    """One module's gradients, and one that an optimizer reads unless it is None."""
    nodes = [
        SimpleNamespace(exec_order=0, holds_gradients=True, is_update=False),
        SimpleNamespace(exec_order=1, holds_gradients=False, is_update=True),
    ]
    matching = SimpleNamespace(problem=SimpleNamespace(in_order=nodes), across_frameworks=False)
    scores = [held] if read is None else [held, read]
    made = SimpleNamespace(
        matching=matching,
        nodes=SimpleNamespace(outputs=np.array([held, 0.0])),
        scores=SimpleNamespace(score=np.array(scores)),
        pairs=SimpleNamespace(node=np.arange(len(scores))),
        keys=["parameters_grad.weight", "input.gradient"][: len(scores)],
    )
    return cast(Comparison, made)


@pytest.mark.parametrize(
    ("held", "read", "is_parallel", "agree"),
    [
        (0.0, 0.0, True, True),
        (0.0, 0.5, True, False),  # a reduction went wrong between the two
        (0.0, None, True, None),  # a flat shard, say, of which nothing is recorded
        (0.0, NAN, True, None),
        (0.0, None, False, True),  # one process reads what its modules have
        (0.5, 0.0, False, False),
        (NAN, 0.0, True, None),
    ],
)
def test_gradients_of_modules_tell_nothing_of_what_ranks_make_of_them(
    held: float, read: float | None, is_parallel: bool, agree: bool | None
) -> None:
    assert _gradients_agree(_comparison(held, read), is_parallel=is_parallel) is agree
