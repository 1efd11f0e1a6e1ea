"""What rounding may do to a call: the reference, run again with every operator rounding at random.

Each ATen operator gets inputs that are off by what its sums round (a unit of the accumulating
format, times the square root of the number of terms, once for each element and once for all
together, as sums of equal sign round); what it computes is stored in the format of the call, so
intermediate results are off by a unit of that. What comes out shows how far format, sums and the
call's own condition let a correct result lie from the exact one (Monte Carlo arithmetic, D. Stott
Parker 1997; random backward error after N. Higham and T. Mary 2019).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_unflatten

from msprobe.acc_check.terms import accumulated_terms, bare_name, is_pointwise

_MOST_NESTED = 4
_COARSE = 8.0
Operator: TypeAlias = Any  # torch.ops has no types
Tree: TypeAlias = Any  # nested lists, tuples and dicts of what an operator takes or gives


@dataclass(frozen=True, slots=True)
class Format:
    """Units in the last place, halved: `store` of results, `add` of sums, and of products where
    a device shortens the inputs of matrix products or convolutions (TF32, HF32).

    Below `normal` the format of results has no smaller units: what is stored there is off by
    `store · normal`, however small it is (gradual underflow; N. Higham, Accuracy and Stability of
    Numerical Algorithms, 2.2).

    `exponential` is how far, relative to them, exponentials may lie of a device that approximates
    them by more than the format rounds.
    """

    store: float
    add: float
    matrix: float = 0.0
    convolution: float = 0.0
    normal: float = 0.0
    exponential: float = 0.0


@dataclass(slots=True)
class Rounding:
    """How a sample is drawn; `terms` of each operator as the unperturbed run has them.

    `in_parts`: operators are taken apart, as a device may compute them. `coarse`: all but sums and
    products of matrices are as far off as if they rounded to the format of the call in between.
    """

    format: Format
    seed: int
    terms: list[tuple[str, int]] = field(default_factory=list)
    in_parts: bool = False
    coarse: bool = False


class _Watching(TorchDispatchMode):
    """A mode that no compiled code runs under.

    torch otherwise wraps what a mode does to keep its compiler out, which loads the compiler: three
    seconds of each process that checks calls.
    """

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False


class CountTerms(_Watching):
    """Notes name and number of terms of every operator that computes, in order."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # torch's mode has no types
        self.found: list[tuple[str, int]] = []

    def __torch_dispatch__(
        self, func: Operator, types: object, args: Tree = (), kwargs: Tree = None
    ) -> Tree:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        inputs = _floats((args, kwargs))
        if inputs and not _only_views(func):
            name = bare_name(func)
            results = max((leaf.numel() for leaf in _floats(result)), default=0)
            one = is_pointwise(func)
            self.found.append((name, 1 if one else accumulated_terms(name, inputs, results)))
        return result


class RandomRounding(_Watching):
    """Perturbs what every operator of a run takes; see the module."""

    def __init__(self, rounding: Rounding, given: set[int]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # torch's mode has no types
        self._rounding = rounding
        self._given = given
        self._generator = torch.Generator().manual_seed(rounding.seed)
        self._position = 0
        self._depth = 0
        self._stored = rounding.format.store

    def __torch_dispatch__(
        self, func: Operator, types: object, args: Tree = (), kwargs: Tree = None
    ) -> Tree:
        kwargs = kwargs or {}
        inputs = _floats((args, kwargs))
        if not inputs or _only_views(func):
            return func(*args, **kwargs)
        name = bare_name(func)
        terms = self._terms(func, name, inputs)
        part = self._taken_apart(func, name, args, kwargs)
        if part is not NotImplemented:
            return part
        unit = (
            0.0
            if name in _EXACT
            else self._unit(name, terms, inputs, transposed=_transposed(name, args))
        )
        changed = self._perturbation(unit)
        new_args, new_kwargs = changed.arguments(func, args, kwargs)
        result = func(*new_args, **new_kwargs)
        if not _floats(result) and not func._schema.is_mutable:
            return func(*args, **kwargs)  # a comparison rounds nothing
        approximate = self._rounding.format.exponential
        if approximate and name in _EXPONENTIALS and isinstance(result, torch.Tensor):
            return self._perturbation(approximate).applied(result, in_place=func._schema.is_mutable)
        return result

    def _terms(self, func: Operator, name: str, inputs: Sequence[torch.Tensor]) -> int:
        counted = self._rounding.terms
        if self._depth == 0:
            position, self._position = self._position, self._position + 1
            if position < len(counted) and counted[position][0] == name:
                return counted[position][1]
        return 1 if is_pointwise(func) else accumulated_terms(name, inputs, None)

    def _unit(
        self, name: str, terms: int, inputs: Sequence[torch.Tensor], *, transposed: bool
    ) -> float:
        """By how much the inputs are off, all terms of the sum together."""
        shape, length = self._rounding.format, math.sqrt(terms)
        if name in _ROUND_BETWEEN:
            return max(shape.store, shape.add) * length
        if self._rounding.coarse and name not in _SUMS:
            return max(shape.store, _COARSE * shape.add) * length
        if name == "convolution_backward" or transposed:
            # One partial result for each element of the kernel and each of the batch, added up
            # in memory of the call's format.
            partial = math.prod(inputs[1 if transposed else 2].shape[2:]) + inputs[0].shape[0]
            stored = shape.store * math.sqrt(partial)
            return max(max(shape.add, shape.convolution) * length, stored)
        if name == "convolution":
            return max(shape.add, shape.convolution) * length
        return (max(shape.add, shape.matrix) if name in _MATRIX else shape.add) * length

    def _perturbation(self, unit: float) -> _Perturbation:
        scalar = self._rounding.format.store
        # Inside a fused operator, whose results keep a wider format, nothing underflows.
        normal = self._rounding.format.normal if self._stored == scalar else 0.0
        return _Perturbation(self._generator, unit, self._stored, scalar, self._given, normal)

    def _taken_apart(self, func: Operator, name: str, args: Tree, kwargs: Tree) -> Tree:
        if not self._rounding.in_parts or self._depth >= _MOST_NESTED:
            return NotImplemented
        if func._schema.is_mutable:
            return NotImplemented
        from torch._decomp import decomposition_table

        parts = decomposition_table.get(func)
        if parts is None:
            return NotImplemented
        outer, rounding = self._stored, self._rounding.format
        perturbed = self._perturbation(0.0)
        new_args, new_kwargs = perturbed.arguments(func, args, kwargs)
        # Inside a fused operator intermediate results keep the wide format.
        self._stored = rounding.store if name in _ROUND_BETWEEN else rounding.add
        self._depth += 1
        try:
            with self:
                return parts(*new_args, **new_kwargs)
        except Exception:  # a decomposition that does not know these arguments
            return NotImplemented
        finally:
            self._depth -= 1
            self._stored = outer


class _Perturbation:
    """Multiplies by 1 plus noise; integers and infinities stay what they are.

    `unit` is for what is given and computed, `stored` for what is computed besides, `scalar` for
    Python numbers that the format cannot hold. Computed numbers below `normal` get noise that is
    as large for all of them.
    """

    def __init__(
        self,
        generator: torch.Generator,
        unit: float,
        stored: float,
        scalar: float,
        given: set[int],
        normal: float,
    ) -> None:
        self._normal = normal
        self._generator = generator
        self._unit = unit
        self._stored = stored
        self._scalar = scalar
        self._given = given

    def applied(self, result: torch.Tensor, *, in_place: bool) -> torch.Tensor:
        """A result of which each element is off by itself, as of an approximation."""
        noise = torch.rand(result.shape, generator=self._generator, dtype=torch.float64)
        factor = noise.mul_(2 * self._unit).add_(1 - self._unit)
        return result.mul_(factor) if in_place else result * factor

    def arguments(self, func: Operator, args: Tree, kwargs: Tree) -> tuple[Tree, Tree]:
        written = _written(func, args, kwargs)
        leaves, spec = tree_flatten((args, kwargs))
        new = [self._leaf(leaf, written) for leaf in leaves]
        changed: tuple[Tree, Tree] = tree_unflatten(new, spec)
        return changed

    def _leaf(self, leaf: Tree, written: set[int]) -> Tree:
        if isinstance(leaf, torch.Tensor) and _is_float(leaf):
            factor, underflow = self._factor(leaf), self._underflow(leaf)
            in_place = id(leaf) in written
            if factor is not None:
                leaf = leaf.mul_(factor) if in_place else leaf * factor
            if underflow is not None:
                leaf = leaf.add_(underflow) if in_place else leaf + underflow
            return leaf
        if isinstance(leaf, float) and math.isfinite(leaf) and _rounds(leaf, self._scalar):
            return leaf * (1 + self._scalar * self._one())
        return leaf

    def _underflow(self, tensor: torch.Tensor) -> torch.Tensor | None:
        if not self._normal or tensor.untyped_storage().data_ptr() in self._given:
            return None
        size = tensor.abs()
        below = (size < self._normal) & (size > 0)
        if not bool(below.any()):
            return None
        noise = torch.rand(tensor.shape, generator=self._generator, dtype=size.dtype)
        return noise.mul_(2).sub_(1).mul_(self._stored * self._normal) * below

    def _factor(self, tensor: torch.Tensor) -> torch.Tensor | None:
        computed = tensor.untyped_storage().data_ptr() not in self._given
        size = math.hypot(self._unit, self._stored) if computed else self._unit
        if size == 0 or tensor.numel() == 0:
            return None
        real = torch.float64 if tensor.dtype.is_complex else tensor.dtype
        noise = torch.rand(tensor.shape, generator=self._generator, dtype=real)
        return noise.mul_(2 * size).add_(1 - size + self._unit * self._one())

    def _one(self) -> float:
        return 2 * float(torch.rand((), generator=self._generator)) - 1


def _transposed(name: str, args: Sequence[Tree]) -> bool:
    return name == "convolution" and len(args) > 6 and bool(args[6])


def _rounds(value: float, unit: float) -> bool:
    """Whether a number is none of a format with that unit; devices may bring scalars to it."""
    mantissa, _ = math.frexp(value)
    return unit > 0 and not (mantissa / unit).is_integer()


def _is_float(tensor: torch.Tensor) -> bool:
    return tensor.dtype.is_floating_point or tensor.dtype.is_complex


def _floats(tree: object) -> list[torch.Tensor]:
    leaves, _ = tree_flatten(tree)
    return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor) and _is_float(leaf)]


def _only_views(func: Operator) -> bool:
    """Whether the results share memory with an input that is not written to."""
    returns = func._schema.returns
    return (
        bool(returns)
        and not func._schema.is_mutable
        and all(each.alias_info is not None and not each.alias_info.is_write for each in returns)
    )


def _written(func: Operator, args: Sequence[Any], kwargs: dict[str, Any]) -> set[int]:
    if not func._schema.is_mutable:
        return set()
    written: set[int] = set()
    for number, declared in enumerate(func._schema.arguments):
        if declared.alias_info is None or not declared.alias_info.is_write:
            continue
        value = args[number] if number < len(args) else kwargs.get(declared.name)
        leaves, _ = tree_flatten(value)
        written.update(id(leaf) for leaf in leaves if isinstance(leaf, torch.Tensor))
    return written


_MATRIX = frozenset("mm bmm addmm baddbmm addbmm mv addmv dot vdot linear einsum".split())
# Whoever sums in a 16-bit format here is wrong.
_SUMS = _MATRIX | frozenset({"convolution", "sum", "mean"})
# Steps: exact on the numbers that they get, in every format.
_EXACT = frozenset(
    "floor ceil round trunc frac fix sign sgn heaviside floor_divide remainder fmod nextafter "
    "isclose copysign clone copy lift_fresh cat stack index_select index gather slice_backward "
    "select_backward embedding constant_pad_nd".split()
)
# What consists of one exponential; other operators are taken apart into these.
_EXPONENTIALS = frozenset("exp exp2 expm1 sigmoid tanh".split())
# Operators that devices compute in several kernels, or that add into memory of the call's format.
_ROUND_BETWEEN = frozenset(
    "index_add scatter_add scatter_reduce index_put embedding_dense_backward embedding_backward "
    "index_reduce put _scaled_dot_product_flash_attention_for_cpu "
    "_scaled_dot_product_flash_attention_for_cpu_backward _scaled_dot_product_attention_math "
    "_scaled_dot_product_efficient_attention _scaled_dot_product_efficient_attention_backward "
    "_scaled_dot_product_flash_attention _scaled_dot_product_flash_attention_backward "
    "mkldnn_rnn_layer mkldnn_rnn_layer_backward native_layer_norm_backward "
    "native_group_norm_backward native_batch_norm native_batch_norm_backward "
    "_native_batch_norm_legit _native_batch_norm_legit_no_training cudnn_batch_norm "
    "cudnn_batch_norm_backward miopen_batch_norm batch_norm_with_update".split()
)
