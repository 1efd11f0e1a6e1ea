"""The results of runs, side by side: which of them differ from eager by more than rounding.

They are compared as the program hands them out, so whatever the records say: outputs, the loss,
every gradient, and what a run has written in place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import inf, isfinite, sqrt

import torch
from torch.nn.parameter import is_lazy
from torch.utils._pytree import tree_leaves

from builder.compare.score import LARGEST, THRESHOLD
from msprobe.compile_check.case import Case

Results = Mapping[str, torch.Tensor]
GRADIENT = "gradient of "
_BUFFER, _ARGUMENT = "buffer ", "argument "
# A distance of a recorded run that is no less than this part of the other's is one and the same.
_SAME_SIZE = 0.25
# How many times as far from the exact result as eager is a compiled one may be, as torch's own
# comparison of compilers has it (`torch._dynamo.utils.same` for its dashboard: two, and three
# against false alarms).
_TIMES = 3.0
# Norms of fewer errors say little of the next ones: that of n varies by 1 in sqrt(2 n).
_ENOUGH = 32
HALF = frozenset({torch.bfloat16, torch.float16})


@dataclass(frozen=True, slots=True)
class LessExact:
    """A result whose distance from the one in float64 is more than `_TIMES` that of eager's.

    Both are relative to the norm of the one in float64.
    """

    name: str
    compiled: float
    eager: float

    @property
    def times(self) -> float:
        """How many times as far as eager's; infinite where eager's is exact."""
        return self.compiled / self.eager if self.eager else inf


@dataclass(frozen=True, slots=True)
class Apart:
    """A result whose distance from eager is more than rounding, relative to the norm of eager's.

    `recorded` is that of the compiled run under the recording, None where there is none. It
    `diverges` where no rounding of a whole model reaches as far: no record can explain that.
    Integers, flags and what one run alone hands out are infinitely apart. Where rounding does reach
    from the one to the other, `less_exact` says why it is told all the same.
    """

    name: str
    alone: float
    recorded: float | None
    diverges: bool
    less_exact: LessExact | None = None

    @property
    def is_judged(self) -> bool:
        """Whether the records have seen a difference of that size, and say what it is."""
        seen = self.recorded
        return not self.diverges and seen is not None and seen >= _SAME_SIZE * self.alone


def results_of(
    case: Case, result: object, loss: torch.Tensor | None, before: Results
) -> Iterator[tuple[str, torch.Tensor]]:
    """What a call of a model comes to, by name: outputs, numbers among them, loss, gradients and
    what it leaves in buffers, arguments and, where they are no more as `before`, in parameters.
    """
    for at, each in enumerate(tree_leaves(result)):
        if isinstance(each, torch.Tensor):
            yield f"output {at}", each.detach()
        elif isinstance(each, bool | int | float | complex):
            yield f"output {at}", torch.tensor(each)
    if loss is not None:
        yield "loss", loss.detach()
    for name, leaf in (*case.model.named_parameters(), *_arguments(case)):
        if leaf.is_leaf and leaf.grad is not None:
            yield f"{GRADIENT}{name}", leaf.grad
    yield from _written(case, before)


def _written(case: Case, before: Results) -> Iterator[tuple[str, torch.Tensor]]:
    for name, parameter in state_of(case).items():
        if name not in before or not _is_equal(parameter, before[name]):
            yield name, parameter
    for name, each in (*_named(_BUFFER, case.model.named_buffers()), *_arguments(case)):
        yield name, each.detach().clone()


def state_of(case: Case) -> dict[str, torch.Tensor]:
    """A copy of the parameters by name, to tell which of them a run writes."""
    parameters = _named("parameter ", case.model.named_parameters())
    return {name: each.detach().clone() for name, each in parameters}


def _named(
    kind: str, tensors: Iterable[tuple[str, torch.Tensor]]
) -> Iterator[tuple[str, torch.Tensor]]:
    plain = ((name, each) for name, each in tensors if not is_lazy(each))
    return ((f"{kind}{name}", each) for name, each in plain if each.layout is torch.strided)


def _arguments(case: Case) -> Iterator[tuple[str, torch.Tensor]]:
    leaves = tree_leaves((case.args, case.kwargs))
    tensors = (each for each in leaves if isinstance(each, torch.Tensor))
    return _named(_ARGUMENT, ((str(at), each) for at, each in enumerate(tensors)))


def results_apart(
    alone: Results,
    recorded: Results,
    eager: Results,
    modules: int,
    exact: Results | None = None,
) -> list[Apart]:
    """The results of the compiled model alone that differ from eager's by more than rounding.

    A compiler may keep a wider format inside a kernel, so each module may round once more or once
    less: as many machine epsilons as there are modules are no difference. Of gradients these are
    epsilons of the largest: in a small one terms cancel. In half formats that is much: there
    eager's own distance from the `exact` results, those in float64, says what rounding comes to.
    """
    coarse = max((torch.finfo(each.dtype).eps for each in _halves(eager)), default=0.0)
    largest = {kind: _largest(eager, kind) for kind in (GRADIENT, _BUFFER)}
    found = []
    for name in {**alone, **eager}:
        if name not in alone or name not in eager:
            found.append(Apart(name, inf, None, diverges=True))
            continue
        wanted, allowed = eager[name], rounding(eager[name], modules, coarse)
        of_kind = next((largest[kind] for kind in largest if name.startswith(kind)), 0.0)
        scale = max(_norm(wanted), of_kind if name.startswith(GRADIENT) else 0.0)
        apart = _apart(alone[name], wanted)
        inexact = _inexact(name, alone, eager, exact, max(_norm(wanted), of_kind), coarse)
        # A running mean can be zero but for the rounding of what it is the mean of. In half formats
        # as many epsilons as there are modules would be more than a whole small buffer.
        last_bits = rounding(wanted, 1 if coarse else modules, coarse)
        rounded = max(allowed * scale, last_bits * of_kind)
        if apart <= rounded and inexact is None:
            continue
        other = _apart(recorded[name], wanted) if name in recorded else None
        own = _norm(wanted) or 1.0
        diverges = inexact is not None or apart > _divergence(allowed) * scale
        seen = None if other is None else other / own
        less_exact = inexact if apart <= rounded else None
        found.append(Apart(name, apart / own, seen, diverges, less_exact))
    return found


def _largest(results: Results, kind: str) -> float:
    """The largest norm among the results of a kind that are rounded."""
    real = (each for name, each in results.items() if name.startswith(kind))
    return max((_norm(each) for each in real if each.is_floating_point()), default=0.0)


def _halves(results: Results) -> Iterator[torch.Tensor]:
    """The outputs and gradients in half formats: what is wider beside them is made of such."""
    for name, each in results.items():
        if each.dtype in HALF and not name.startswith((_BUFFER, _ARGUMENT)):
            yield each


def _inexact(
    name: str, alone: Results, eager: Results, exact: Results | None, scale: float, coarse: float
) -> LessExact | None:
    """A compiled result that is much further from the exact one than eager's, of a model that goes
    through a half format; of few elements nothing is said.
    """
    wanted, true = eager[name], None if exact is None else exact.get(name)
    if true is None or not wanted.is_floating_point() or wanted.numel() < _ENOUGH:
        return None
    if {alone[name].shape, wanted.shape, true.shape} != {true.shape}:
        return None
    own = _apart(wanted.to(true.dtype), true)
    if not isfinite(own) or _is_as_exact(alone[name], wanted, true, scale, coarse):
        return None
    return _less_exact(name, alone[name], wanted, true)


def _is_as_exact(
    ours: torch.Tensor, wanted: torch.Tensor, true: torch.Tensor, scale: float, coarse: float
) -> bool:
    """Whether a compiled result is hardly further from the exact one than eager's is.

    One last bit of it is never much; nor is one of the largest gradient where the exact one is less
    than that, and so zero but for rounding.
    """
    eps, norm = max(torch.finfo(wanted.dtype).eps, coarse), _norm(true)
    least = eps * (scale if norm < eps * scale else norm)
    own, theirs = (_apart(each.to(true.dtype), true) for each in (wanted, ours))
    return theirs <= _TIMES * max(own, least)


def less_exact_gradients(
    names: Iterable[str], alone: Results, eager: Results, exact: Results, modules: int
) -> list[LessExact] | None:
    """The compiled gradients of parameters that are further from the exact ones than eager's are,
    each judged for itself, however small beside others; the worst first.

    In a wide format one that is zero but for the rounding of the exact ones may be off by a last
    bit of the largest: nothing but rounding is left of it in any format. None where a gradient is
    missing on a side or is of another shape, so that nothing can be told.
    """
    coarse = max((torch.finfo(each.dtype).eps for each in _halves(eager)), default=0.0)
    largest = _largest(eager, GRADIENT)
    found = []
    for name in (f"{GRADIENT}{each}" for each in names):
        if any(name not in results for results in (alone, eager, exact)):
            return None
        ours, wanted, true = alone[name], eager[name], exact[name]
        if not wanted.is_floating_point() or {ours.shape, wanted.shape} != {true.shape}:
            return None
        is_zero = not coarse and _norm(true) <= rounding(true, modules) * largest
        if not _is_as_exact(ours, wanted, true, largest if is_zero else 0.0, coarse):
            found.append(_less_exact(name, ours, wanted, true))
    return sorted(found, key=lambda each: -each.times)


def _less_exact(
    name: str, ours: torch.Tensor, wanted: torch.Tensor, true: torch.Tensor
) -> LessExact:
    compiled, eager = (distance(each.to(true.dtype), true) for each in (ours, wanted))
    return LessExact(name, compiled, eager)


def _divergence(allowed: float) -> float:
    """From which share on a value diverges whose rounding is `allowed`, as in every comparison."""
    return float(min(allowed, LARGEST) ** (1.0 - THRESHOLD))


def rounding(wanted: torch.Tensor, modules: int, coarse: float = 0.0) -> float:
    """How far from eager rounding once a module takes a result; integers are not rounded.

    `coarse` is the epsilon of a half format that a wider result was made in, 0 where there is none:
    a loss is the sum of many of its roundings, which add up as a walk at random does.
    """
    if not wanted.dtype.is_floating_point:
        return 0.0
    return max(modules * torch.finfo(wanted.dtype).eps, sqrt(modules) * coarse)


def distance(one: torch.Tensor, other: torch.Tensor) -> float:
    """The norm of the difference over the norm of `other`."""
    return _apart(one, other) / max(_norm(other), 1e-300)


def unequal(one: Results, other: Results) -> list[str]:
    """The names of what is not bit-equal; NaN is equal to itself."""
    return [
        name
        for name in {**one, **other}
        if name not in one or name not in other or not _is_equal(one[name], other[name])
    ]


def _apart(one: torch.Tensor, other: torch.Tensor) -> float:
    """The norm of the difference; infinite where the two are no tensors of one kind."""
    if one.shape != other.shape or one.dtype is not other.dtype:
        return inf
    if not (one.is_floating_point() or one.is_complex()):
        return 0.0 if torch.equal(one, other) else inf
    if _is_equal(one, other):
        return 0.0
    wide = torch.complex128 if one.is_complex() else torch.float64
    # Infinity and NaN of both runs are no difference; of one alone they are an infinite one.
    same = (one == other) | ((one != one) & (other != other))  # noqa: PLR0124 - NaN
    found = float((one.to(wide) - other.to(wide)).masked_fill(same, 0).norm())
    return found if isfinite(found) else inf


def _norm(tensor: torch.Tensor) -> float:
    finite = tensor.detach().to(torch.complex128 if tensor.is_complex() else torch.float64)
    return float(torch.nan_to_num(finite, nan=0.0, posinf=0.0, neginf=0.0).norm())


def _is_equal(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.shape != other.shape or one.dtype is not other.dtype:
        return False
    return bool(((one == other) | ((one != one) & (other != other))).all())  # noqa: PLR0124 - NaN
