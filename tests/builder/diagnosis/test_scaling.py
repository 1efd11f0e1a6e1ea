"""A gradient is known again after it was multiplied by a number, and only then."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from builder.diagnosis.policies.by_scores.let_pass import ScaledGradients
from builder.dump.values import Record


@dataclass(frozen=True)
class Gradient:
    """Statistics in proportion to a norm of 1."""

    highest: float
    lowest: float
    mean: float

    def times(self, factor: float) -> Record:
        return Record(
            dtype="torch.float32",
            shape=(4,),
            Max=self.highest * factor,
            Min=self.lowest * factor,
            Mean=self.mean * factor,
            Norm=factor,
        )


share = st.floats(0.1, 1.0)


@given(st.builds(Gradient, share, share, share), st.floats(1e-6, 1e6))
def test_a_factor_is_seen_through(gradient: Gradient, factor: float) -> None:
    known = ScaledGradients()
    known.add(gradient.times(1.0))
    assert known.knows(gradient.times(factor))
    assert not known.knows(Gradient(-1.0, -2.0, -1.5).times(factor))


def test_another_shape_or_no_number_is_not_known() -> None:
    known = ScaledGradients()
    gradient = Gradient(0.5, -0.5, 0.1)
    known.add(gradient.times(1.0))
    other = gradient.times(2.0)
    other.shape = (2, 2)
    assert not known.knows(other)
    for empty in (Record(dtype="torch.float32"), gradient.times(0.0), gradient.times(float("nan"))):
        known.add(empty)
        assert not known.knows(empty)
