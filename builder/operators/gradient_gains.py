"""The gain of a call of the backward pass: how far apart it puts out a gradient.

A gradient is computed from the gradient that flows in and from what the forward call read and put
out. Each function gives a gain for each of these, so that to first order
‖Δgᵢ‖ ≤ G·‖Δg‖ + Σⱼ Gⱼ·‖Δxⱼ‖ + Gᵧ·‖Δy‖ for the gradient gᵢ of the i-th operand.
docs/internals/diagnosis-rules.md lists them; tests/builder/operators/test_gradient_gains.py
compares them with float64.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, inf, sqrt

from builder.operators.gains import Factors, Operand, Operands, Result


@dataclass(frozen=True, slots=True)
class Backward:
    """What a gradient is computed from: operands and result of the forward call, the flow in.

    `of` is the number of the operand whose gradient is asked for, `out` that gradient.
    """

    operands: Operands
    factors: Factors
    result: Operand
    flowing: Operand
    of: int
    out: Result

    @property
    def added(self) -> float:
        """√K where K elements of the flow are added up in each of the result: Cauchy, Schwarz."""
        return sqrt(max(1.0, self.flowing.size / self.out.size))

    @property
    def row(self) -> int:
        """The length of the last dimension of the forward call's result."""
        return self.result.shape[-1] if self.result.shape else 1


@dataclass(frozen=True, slots=True)
class GradientGains:
    """The gains of the gradient that flows in, of the forward call's operands, of its result."""

    flowing: float
    operands: dict[int, float]
    result: float = 0.0


Gradient = Callable[[Backward], "GradientGains | None"]


def moved(of: Backward) -> GradientGains:
    """The adjoint of a move puts elements back, and adds up those that were copied."""
    return GradientGains(of.added, {})


def sum_of_both(of: Backward) -> GradientGains:
    """The gradient of x ± αy is g, and ±αg, added up over what was copied."""
    return GradientGains(of.added * (1.0 if of.of == 0 else _factor(of, "alpha")), {})


def spread(of: Backward) -> GradientGains:
    """The gradient of a sum of K terms is copied K times."""
    return GradientGains(of.flowing.copies(of.out.size), {})


def spread_mean(of: Backward) -> GradientGains:
    """The gradient of a mean of K terms is copied K times and divided by K."""
    return GradientGains(1 / of.flowing.copies(of.out.size), {})


def product(of: Backward) -> GradientGains | None:
    """‖Δ(g∘y)‖ ≤ max|y|·‖Δg‖ + max|g|·‖Δy‖."""
    if of.of > 1:
        return None
    other = of.operands[1 - of.of]
    changed = of.flowing.largest * other.copies(of.flowing.size)
    return GradientGains(of.added * other.largest, {1 - of.of: of.added * changed})


def quotient(of: Backward) -> GradientGains | None:
    """Of r = x/y the gradients are g/y and −g∘r/y."""
    if of.of > 1:
        return None
    least, steep = of.operands[1].smallest, of.flowing.largest * of.added
    if least == 0:
        return GradientGains(inf, {})
    copies = of.operands[1].copies(of.flowing.size)
    if of.of == 0:
        return GradientGains(of.added / least, {1: steep * copies / least**2})
    ratio = of.result.largest
    changed = {1: steep * copies * ratio / least**2}
    return GradientGains(of.added * ratio / least, changed, steep / least)


def element(first: float, second: float) -> Gradient:
    """Element by element: |f′| ≤ first, |f″| ≤ second, so ‖Δ(g∘f′)‖ ≤ L·‖Δg‖ + max|g|·M·‖Δx‖."""

    def gradient(of: Backward) -> GradientGains | None:
        if of.of > 0:
            return None
        return GradientGains(first, {0: second * of.flowing.largest})

    return gradient


def exponential(of: Backward) -> GradientGains:
    """g∘y with y = exp x."""
    return GradientGains(of.result.largest, {}, of.flowing.largest)


def root(of: Backward) -> GradientGains:
    """g/2y with y = √x."""
    least = of.result.smallest
    if least == 0:
        return GradientGains(inf, {})
    return GradientGains(0.5 / least, {}, 0.5 * of.flowing.largest / least**2)


def inverse_root(of: Backward) -> GradientGains:
    """−g∘y³/2 with y = x^-½."""
    y = of.result.largest
    return GradientGains(0.5 * y**3, {}, 1.5 * y**2 * of.flowing.largest)


def reciprocal(of: Backward) -> GradientGains:
    """−g∘y² with y = 1/x."""
    y = of.result.largest
    return GradientGains(y**2, {}, 2 * y * of.flowing.largest)


def logarithm(of: Backward) -> GradientGains:
    """g/x."""
    least = of.operands[0].smallest
    if least == 0:
        return GradientGains(inf, {})
    return GradientGains(1 / least, {0: of.flowing.largest / least**2})


def power(of: Backward) -> GradientGains | None:
    """k·g∘xᵏ⁻¹ for a number k of 1, or of at least 2."""
    x, exponent = of.operands[:2]
    k = exponent.largest
    if of.of > 0 or exponent.shape or (k != 1 and k < 2):
        return None
    curved = k * (k - 1) * float(x.largest ** max(0.0, k - 2))
    return GradientGains(k * float(x.largest ** (k - 1)), {0: of.flowing.largest * curved})


def softmax(of: Backward) -> GradientGains:
    """y∘(g − ⟨g, y⟩): the Jacobian's norm is ≤ ½; ‖y‖² ≤ max y, as the elements of y add up to 1.

    ‖Δ‖ ≤ 2·max|g|·‖Δy‖ for the factor in front, and ‖y‖·‖g‖·‖Δy‖ for the sum.
    """
    peak = of.flowing.largest
    row = min(sqrt(of.row) * peak, of.flowing.norm)
    return GradientGains(0.5, {}, 2 * peak + sqrt(min(1.0, of.result.largest)) * row)


def log_softmax(of: Backward) -> GradientGains:
    """Of g − p·Σg with p = exp y: ‖p‖ ≤ √max p, |Σg| ≤ √C·‖g‖."""
    p = exp(-min(of.result.smallest, 700.0))
    row = min(sqrt(of.row) * of.flowing.largest, of.flowing.norm)
    return GradientGains(1 + sqrt(of.row * p), {}, p * sqrt(of.row) * row)


def loss_of_rows(of: Backward) -> GradientGains | None:
    """Of g·(p − q)/N, averaged over N rows: ‖p − q‖ ≤ √2, ‖Δp‖ ≤ ½·‖Δx‖.

    Where rows are left out N is smaller: no element of p − q is above 1, so that g/N is at least
    the largest of the result; twice that is believed. Where only the last of its calls is
    recorded, that is −g·q/N, whose elements add up to −g, where those of p − q add up to nothing.
    """
    if of.of > 0:
        return None
    logits, peak = of.operands[0], of.flowing.largest
    rows = max(1.0, logits.size / max(1, logits.shape[-1] if logits.shape else 1))
    if of.result.size > 1:
        return GradientGains(sqrt(2.0), {0: 0.5 * peak})
    if of.out.mean * of.out.size >= 0.5 * peak:
        return GradientGains(sqrt(1.0 / rows), {})
    flow = max(peak / rows, 2 * of.out.largest)
    return GradientGains(sqrt(2.0 / rows), {0: 0.5 * flow})


def _contraction(summed: Callable[[Operand, Operand], float]) -> Gradient:
    """The gradient of one factor is a product of the flow and the other factor.

    The call multiplies N = n·K numbers for n results of K terms; each element of a gradient of
    n′ elements therefore sums N/n′ terms: √(n′/n_g)·w(y)·‖Δg‖ + √(n′/n_y)·w(g)·‖Δy‖.
    """

    def gradient(of: Backward) -> GradientGains | None:
        if of.of > 1:  # the bias, and what is added
            return GradientGains(of.added, {})
        other, size = of.operands[1 - of.of], of.out.size
        terms = of.result.size * summed(*of.operands[:2]) / size
        steep = sqrt(size / of.flowing.size) * other.weight(terms)
        return GradientGains(steep, {1 - of.of: sqrt(size / other.size) * of.flowing.weight(terms)})

    return gradient


def added_product(of: Backward) -> GradientGains | None:
    """Of βz + α·xy the gradients are βg and those of the product, α times."""
    if of.of == 0:
        return GradientGains(of.added * _factor(of, "beta"), {})
    inner = Backward(of.operands[1:], of.factors, of.result, of.flowing, of.of - 1, of.out)
    product = matrix_product(inner)
    if product is None:
        return None
    alpha = _factor(of, "alpha")
    return GradientGains(
        alpha * product.flowing, {i + 1: alpha * g for i, g in product.operands.items()}
    )


def normalised(skipped: int) -> Gradient:
    """Of γ·x̂ + β with x̂ = (x − mean)/σ: (γg − mean γg − x̂·mean(γg·x̂))/σ, Σg·x̂, Σg.

    σ is told by the norm, rows of one scale assumed; four times it covers rows of a quarter of
    the usual size. ‖Δx̂‖ ≤ ‖Δx‖/σ: in the gradient of x it stands twice beside γg, and 1/σ once.
    γ and β are the tensors behind x and `skipped` running statistics.
    """

    def gradient(of: Backward) -> GradientGains | None:
        x = of.operands[0]
        affine = [i for i, one in enumerate(of.operands) if one.shape][1 + skipped :]
        centred = sqrt(max(x.norm**2 - x.size * x.mean**2, 1e-6 * x.norm**2))
        if centred == 0:
            return GradientGains(inf, {})
        steep = 4.0 * sqrt(x.size) / centred
        if of.of == 0:
            scale = of.operands[affine[0]].largest if affine else 1.0
            turned = 4.0 * of.out.norm / centred + 2 * scale * of.flowing.norm * steep / centred
            rest = {i: steep * of.flowing.norm / sqrt(of.operands[i].size) for i in affine[:1]}
            return GradientGains(scale * steep, {0: turned, **rest})
        if of.of not in affine:
            return None
        if of.of == affine[0]:
            terms = of.flowing.size / of.out.size
            turned = steep * sqrt(of.out.size / x.size) * of.flowing.weight(terms)
            return GradientGains(2.0, {0: turned})
        return GradientGains(of.added, {})

    return gradient


def _factor(of: Backward, name: str) -> float:
    return abs(of.factors.get(name, 1.0))


# A sum for each element of the result: over the last axis, or over a row of the weight.
matrix_product = _contraction(lambda x, y: x.shape[-1] if x.shape else 1)
layer = _contraction(lambda x, w: w.size / max(1, w.shape[0] if w.shape else 1))
