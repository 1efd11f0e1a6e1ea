"""The gain of a call: how far apart it puts out what it reads a unit of L2 distance apart.

One function a family of calls; `table` says which calls are of it. It gives a gain for each
operand, so that to first order ‖Δy‖ ≤ Σᵢ Gᵢ·‖Δxᵢ‖. Where an operand of either side is asked for its
size, the larger of the two is meant, which makes the bounds of products exact and not of first
order alone.
docs/internals/diagnosis-rules.md lists them; tests/builder/operators/test_gains.py compares them
with float64.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, prod, sqrt


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor or a number that both sides read.

    `distance` is the L2 norm of the difference; `norm`, `mean` and `largest` are the magnitudes of
    the larger side, `smallest` that of the smallest element, as far as the extremes tell: 0 where
    they lie on both sides of zero. A number has the empty shape.
    """

    distance: float
    norm: float
    mean: float
    largest: float
    shape: tuple[int, ...]
    smallest: float = 0.0

    @property
    def size(self) -> int:
        """How many elements it has."""
        return max(1, prod(self.shape))

    @property
    def rms(self) -> float:
        """The root mean square of its elements."""
        return self.norm / sqrt(self.size)

    def copies(self, size: int) -> float:
        """What a distance grows by when the operand is copied to `size` elements."""
        return sqrt(max(1.0, size / self.size))

    def weight(self, terms: float) -> float:
        """What a sum of so many terms makes of unit errors that the elements multiply.

        Errors that all terms have in common add up with the mean, the others as a random walk.
        """
        around = max(0.0, self.norm**2 / self.size - self.mean**2)
        return self.mean * terms + sqrt(around * terms)


@dataclass(frozen=True, slots=True)
class Result:
    """What a call put out: its size, and norm, largest and mean magnitude of the larger side."""

    size: int
    norm: float
    largest: float
    mean: float = 0.0


Operands = Sequence[Operand]
Factors = Mapping[str, float]
Gain = Callable[[Operands, Factors, Result], "Sequence[float] | None"]


def moved(operands: Operands, factors: Factors, result: Result) -> list[float]:
    """Moved, picked or cut off: ‖Δy‖ ≤ ‖Δx‖·√copies."""
    known = sum(one.size for one in operands if one.shape)
    copies = sqrt(max(1.0, result.size / max(1, known)))
    return [copies] * len(operands)


def lipschitz(constant: float) -> Gain:
    """Element by element, with a derivative of at most so much."""

    def gain(operands: Operands, factors: Factors, result: Result) -> list[float]:
        return [constant * operands[0].copies(result.size)] + [inf] * (len(operands) - 1)

    return gain


def sum_of_both(operands: Operands, factors: Factors, result: Result) -> list[float]:
    """‖Δ(x ± αy)‖ ≤ ‖Δx‖ + |α|·‖Δy‖."""
    first, *others = operands
    alpha = _factor(factors, "alpha")
    return [first.copies(result.size)] + [alpha * one.copies(result.size) for one in others]


def product(operands: Operands, factors: Factors, result: Result) -> list[float]:
    """‖Δ(x∘y)‖ ≤ max|y|·‖Δx‖ + max|x|·‖Δy‖, where the larger side is meant."""
    x, y = operands[:2]
    return [y.largest * x.copies(result.size), x.largest * y.copies(result.size)]


def quotient(operands: Operands, factors: Factors, result: Result) -> list[float]:
    """‖Δ(x/y)‖ ≤ ‖Δx‖/min|y| + max|x/y|·‖Δy‖/min|y|."""
    x, y = operands[:2]
    if y.smallest == 0:
        return [inf, inf]
    ratio = min(result.largest, x.largest / y.smallest)
    return [x.copies(result.size) / y.smallest, ratio * y.copies(result.size) / y.smallest]


def reciprocal(operands: Operands, factors: Factors, result: Result) -> list[float]:
    """|Δ(1/x)| ≤ |Δx|/min x²."""
    smallest = operands[0].smallest
    return [inf if smallest == 0 else smallest**-2]


def inverse_root(operands: Operands, factors: Factors, result: Result) -> list[float]:
    """|Δ(x^-½)| ≤ |Δx|·min(x)^-1.5/2."""
    smallest = operands[0].smallest
    return [inf if smallest == 0 else 0.5 * smallest**-1.5]


def root(operands: Operands, factors: Factors, result: Result) -> list[float]:
    """|Δ√x| ≤ |Δx|/(2·√min x); and |Δ√x| ≤ √|Δx|, so that ‖Δ√x‖ ≤ n^¼·√‖Δx‖."""
    x = operands[0]
    steep = inf if x.smallest == 0 else 0.5 / sqrt(x.smallest)
    if x.distance == 0:
        return [steep if steep < inf else 0.0]
    return [min(steep, x.size**0.25 / sqrt(x.distance))]


def logarithm(operands: Operands, factors: Factors, result: Result) -> list[float]:
    """|Δ log x| ≤ |Δx|/min x."""
    smallest = operands[0].smallest
    return [inf if smallest == 0 else 1.0 / smallest]


def exponential(operands: Operands, factors: Factors, result: Result) -> list[float]:
    """|Δ exp x| ≤ max exp x·|Δx|."""
    return [result.largest]


def power(operands: Operands, factors: Factors, result: Result) -> list[float] | None:
    """‖Δ(xᵏ)‖ ≤ k·max|x|ᵏ⁻¹·‖Δx‖, where the exponent is a number of at least 1."""
    x, exponent = operands[:2]
    if exponent.shape or exponent.largest < 1:
        return None
    return [exponent.largest * float(x.largest ** (exponent.largest - 1)), 0.0]


def added_up(operands: Operands, factors: Factors, result: Result) -> list[float]:
    """Sums of K terms: ‖Δy‖ ≤ √K·‖Δx‖ (Cauchy and Schwarz)."""
    return [sqrt(max(1.0, operands[0].size / result.size))] + [inf] * (len(operands) - 1)


def mean(operands: Operands, factors: Factors, result: Result) -> list[float]:
    """Means of K terms: ‖Δy‖ ≤ ‖Δx‖/√K."""
    return [1 / sqrt(max(1.0, operands[0].size / result.size))] + [inf] * (len(operands) - 1)


def _contraction(x: Operand, y: Operand, summed: float, size: int) -> list[float]:
    """‖Δ(xy)‖ ≲ √n·(w(y)·rms Δx + w(x)·rms Δy), with w = K·|mean| + √K·std for K terms a sum."""
    return [
        sqrt(size / x.size) * y.weight(summed),
        sqrt(size / y.size) * x.weight(summed),
    ]


def matrix_product(operands: Operands, factors: Factors, result: Result) -> list[float]:
    """Each element of the result sums over the last axis of the first factor."""
    x, y = operands[:2]
    return _contraction(x, y, x.shape[-1] if x.shape else 1, result.size)


def grouped_product(operands: Operands, factors: Factors, result: Result) -> list[float]:
    """A matrix product a group of rows: where all rows lie in the one group whose factor is off,
    its elements are √groups times as far apart as those of all groups are.
    """
    x, y = operands[:2]
    groups = max(one.shape[0] if len(one.shape) > 2 else 1 for one in (x, y))
    both = _contraction(x, y, x.shape[-1] if x.shape else 1, result.size)
    return [sqrt(groups) * gain for gain in both] + [inf] * (len(operands) - 2)


def layer(operands: Operands, factors: Factors, result: Result) -> list[float]:
    """Linear layers and convolutions: each element of the result sums a row of the weight."""
    x, weight, *bias = operands
    summed = weight.size // max(1, weight.shape[0] if weight.shape else 1)
    both = _contraction(x, weight, summed, result.size)
    return both + [one.copies(result.size) for one in bias]


def normalised(operands: Operands, factors: Factors, result: Result) -> list[float]:
    """Of a norm over rows with weight γ: ‖Δy‖ ≲ ‖y‖/‖x − mean x‖·‖Δx‖ + max|x̂|·‖Δγ‖ + ‖Δβ‖.

    Rows of one scale are assumed; four times it covers rows of a quarter of the usual size.
    """
    x, *affine = operands
    centred = sqrt(max(x.norm**2 - x.size * x.mean**2, 1e-6 * x.norm**2))
    steep = 4.0 * result.norm / centred if centred else inf
    peak = sqrt(affine[0].size) if affine else 0.0
    gains = [steep] + [peak * one.copies(result.size) for one in affine[:1]]
    return gains + [one.copies(result.size) for one in affine[1:]]


def loss_of_rows(operands: Operands, factors: Factors, result: Result) -> list[float]:
    """Cross entropy, averaged over N rows: each row's gradient is at most √2 long."""
    logits = operands[0]
    rows = logits.size / max(1, logits.shape[-1] if logits.shape else 1)
    averaged = 1 / sqrt(rows) if result.size == 1 else 1.0
    return [sqrt(2.0) * averaged] + [inf] * (len(operands) - 1)


def onto(inner: Gain, name: str) -> Gain:
    """What is added to its first operand; `name` is the factor of what is added."""

    def gain(operands: Operands, factors: Factors, result: Result) -> list[float]:
        base, *others = operands
        scale = _factor(factors, name)
        added = [scale * one for one in inner(others, factors, result) or ()]
        return [_factor(factors, "beta") * base.copies(result.size), *added]

    return gain


def interpolated(operands: Operands, factors: Factors, result: Result) -> list[float]:
    """X + w·(y − x): ‖Δ‖ ≤ (1 + |w|)·‖Δx‖ + |w|·‖Δy‖ for a number w."""
    weight = operands[2].largest
    rest = abs(1 - weight) if not operands[2].shape else 1 + weight
    return [rest, weight, inf]


def _factor(factors: Factors, name: str) -> float:
    return abs(factors.get(name, 1.0))
