"""How far apart a call puts out what it read apart, for calls whose first derivative is known.

Where the terms of a sum or of a product nearly cancel, or few elements hold most of the norm, the
relative error of the result is larger than those of what was read, and nothing went wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod, sqrt


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor or a number that both sides read.

    `distance` is the L2 norm of the difference, `norm`, `mean` and `largest` are the magnitudes of
    the larger side. A number has the empty shape.
    """

    distance: float
    norm: float
    mean: float
    largest: float
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """How many elements it has."""
        return max(1, prod(self.shape))

    def spread(self, size: int) -> float:
        """The distance once the operand is copied to as many elements as the result has."""
        return self.distance * sqrt(max(1.0, size / self.size))

    def weight(self, terms: int) -> float:
        """What a sum of so many terms makes of unit errors that the elements multiply.

        Errors that all terms have in common add up with the mean, the others as a random walk.
        """
        around = max(0.0, self.norm**2 / self.size - self.mean**2)
        return self.mean * terms + sqrt(around * terms)


Operands = Sequence[Operand]
Factors = Mapping[str, float]
Bound = Callable[[Operands, Factors, int], float]


def furthest(call: str, operands: Operands, factors: Factors, size: int) -> float:
    """The distance that a result of `size` elements has to first order; 0 for other calls.

    `factors` are the numbers that a call multiplies by: alpha, beta, value.
    """
    fewest, bound = _BOUNDS.get(call, (1, _unknown))
    return bound(operands, factors, size) if len(operands) >= fewest else 0.0


def _unknown(operands: Operands, factors: Factors, size: int) -> float:
    return 0.0


def _sum(operands: Operands, factors: Factors, size: int) -> float:
    """‖Δ(x ± αy)‖ ≤ ‖Δx‖ + |α|·‖Δy‖."""
    first, *others = operands
    added = sum(other.spread(size) for other in others)
    return first.spread(size) + _factor(factors, "alpha") * added


def _product(operands: Operands, factors: Factors, size: int) -> float:
    """‖Δ(x∘y)‖ ≤ max|y|·‖Δx‖ + max|x|·‖Δy‖."""
    x, y = operands[:2]
    return y.largest * x.spread(size) + x.largest * y.spread(size)


def _power(operands: Operands, factors: Factors, size: int) -> float:
    """‖Δ(xᵏ)‖ ≤ k·max|x|ᵏ⁻¹·‖Δx‖, where the exponent is a number of at least 1."""
    x, exponent = operands[:2]
    if exponent.shape or exponent.largest < 1:
        return 0.0
    return exponent.largest * float(x.largest ** (exponent.largest - 1)) * x.distance


def _contraction(x: Operand, y: Operand, summed: int, size: int) -> float:
    """‖Δ(xy)‖ ≲ √n·(w(y)·rms(Δx) + w(x)·rms(Δy)), with w = K·|mean| + √K·std for K terms a sum."""
    of_x = y.weight(summed) * x.distance / sqrt(x.size)
    of_y = x.weight(summed) * y.distance / sqrt(y.size)
    return sqrt(size) * (of_x + of_y)


def _matrix_product(operands: Operands, factors: Factors, size: int) -> float:
    x, y = operands[:2]
    return _contraction(x, y, x.shape[-1] if x.shape else 1, size)


def _layer(operands: Operands, factors: Factors, size: int) -> float:
    """Linear layers and convolutions: each element of the result sums a row of the weight."""
    x, weight, *bias = operands
    summed = weight.size // max(1, weight.shape[0] if weight.shape else 1)
    return _contraction(x, weight, summed, size) + sum(one.spread(size) for one in bias)


def _onto(inner: Bound, name: str) -> Bound:
    """What is added to its first operand; `name` is the factor of what is added."""

    def bound(operands: Operands, factors: Factors, size: int) -> float:
        base, *others = operands
        added = _factor(factors, name) * inner(others, factors, size)
        return _factor(factors, "beta") * base.spread(size) + added

    return bound


def _factor(factors: Factors, name: str) -> float:
    return abs(factors.get(name, 1.0))


def _named(names: str, fewest: int, bound: Bound) -> dict[str, tuple[int, Bound]]:
    return dict.fromkeys(names.split(), (fewest, bound))


# By the name of a call without the underscore of its in-place form: its operands and its bound.
_BOUNDS: dict[str, tuple[int, Bound]] = {
    **_named("add sub subtract __add__ __radd__ __iadd__ __sub__ __rsub__ __isub__", 2, _sum),
    **_named("mul multiply __mul__ __rmul__ __imul__", 2, _product),
    **_named("pow __pow__", 2, _power),
    **_named("matmul __matmul__ mm bmm mv dot", 2, _matrix_product),
    **_named("linear conv1d conv2d conv3d", 2, _layer),
    **_named("addcmul _foreach_addcmul", 3, _onto(_product, "value")),
    **_named("addmm baddbmm addmv", 3, _onto(_matrix_product, "alpha")),
}
