"""The statistics of two values, as they stand in dumps."""

from __future__ import annotations

from builder.compare.statistics import relative_error, statistics_of
from builder.dump.values import Record


def number(value: float, norm: float) -> Record:
    return Record("torch.Tensor", "torch.float32", (), Max=value, Min=value, Mean=value, Norm=norm)


def test_a_norm_has_no_sign() -> None:
    """mindstudio-probe writes -3.0 as the norm of a tensor that is the number -3.0."""
    theirs, ours = statistics_of([number(-3.0, -3.0)]), statistics_of([number(-3.0, 3.0)])
    assert relative_error(theirs, ours).tolist() == relative_error(ours, theirs).tolist() == [0.0]


def test_numbers_of_another_sign_differ() -> None:
    one, other = statistics_of([number(-3.0, -3.0)]), statistics_of([number(3.0, 3.0)])
    assert relative_error(one, other).tolist() == [2.0]
