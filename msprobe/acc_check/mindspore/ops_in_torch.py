"""The functions of `mindspore.ops` in PyTorch: by their name, and a function of their arguments.

Equal names say little: `ops.transpose` permutes, `ops.equal` compares element by element,
`ops.std` divides by the number of elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import torch
from torch import Tensor
from torch.nn import functional as F

from msprobe.acc_check.mindspore.words import (
    Function,
    Meaning,
    by_name,
    with_keywords,
    with_long_indices,
)

Anything: TypeAlias = Any  # what a call was recorded with
Axes: TypeAlias = int | Sequence[int] | None


# --- shapes -----------------------------------------------------------------------------------


def _flatten(input: Tensor, order: str = "C", *, start_dim: int = 1, end_dim: int = -1) -> Tensor:
    if order != "C":
        raise TypeError("the reference flattens in C order only")
    return input.flatten(start_dim, end_dim) if input.dim() > start_dim else input


def _squeeze(input: Tensor, axis: Axes = None) -> Tensor:
    if axis is None:
        return input.squeeze()
    return input.squeeze(axis if isinstance(axis, int) else tuple(axis))


def _gather(input_params: Tensor, input_indices: Tensor, axis: int, batch_dims: int = 0) -> Tensor:
    if batch_dims:
        raise TypeError("the reference gathers without batch_dims")
    axis %= input_params.dim()
    rows = input_params.index_select(axis, input_indices.reshape(-1).long())
    shape = input_params.shape
    return rows.reshape(*shape[:axis], *input_indices.shape, *shape[axis + 1 :])


def _gather_nd(input_x: Tensor, indices: Tensor) -> Tensor:
    return input_x[tuple(indices.long().unbind(-1))]


def _one_hot(
    indices: Tensor, depth: int, on_value: Anything = 1, off_value: Anything = 0, axis: int = -1
) -> Tensor:
    raised = F.one_hot(indices.long(), int(depth)).double()
    made: Tensor = raised * on_value + (1 - raised) * off_value
    made = made if axis == -1 else made.movedim(-1, axis)
    floating = torch.as_tensor(on_value).is_floating_point()
    return made if floating else made.long()


# --- reductions --------------------------------------------------------------------------------


def _reduction(function: Function) -> Function:
    """Over all axes where none is given, whether they are kept or not."""

    def reduced(
        input: Tensor, axis: Axes = None, keepdims: bool = False, **rest: Anything
    ) -> Tensor:
        dims = _axes(input, axis)
        return function(input, dims, keepdims, **rest) if dims else input.clone()

    def called(input: Tensor, *args: Anything, **kwargs: Anything) -> Tensor:
        names = {"dim": "axis", "keepdim": "keepdims", "keep_dims": "keepdims", "dtype": "dtype"}
        named = {names.get(key, key): value for key, value in kwargs.items() if value is not None}
        return reduced(input, *args, **named)

    return called


def _axes(input: Tensor, axis: Axes) -> tuple[int, ...]:
    if axis is None or (not isinstance(axis, int) and len(axis) == 0):
        return tuple(range(input.dim()))
    return (axis,) if isinstance(axis, int) else tuple(axis)


def _prod(input: Tensor, dims: tuple[int, ...], keepdim: bool, dtype: Anything = None) -> Tensor:
    made = input if dtype is None else input.to(dtype)
    for dim in sorted((dim % input.dim() for dim in dims), reverse=True):
        made = made.prod(dim, keepdim)
    return made


def _deviation(function: Function) -> Function:
    """`ops.std` and `ops.var` divide by the number of elements less `ddof`, which is 0."""

    def called(input: Tensor, axis: Axes = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
        return function(input, _axes(input, axis), correction=int(ddof), keepdim=keepdims)  # type: ignore[no-any-return]  # torch's function, by name

    return called


def _extreme(function: Function, whole: Function) -> Function:
    """Values and positions along an axis; of the whole tensor the value and the position 0."""

    def called(
        input: Tensor, axis: int | None = None, keepdims: bool = False, **kwargs: Anything
    ) -> Anything:
        if any(value is not None for value in kwargs.values()):
            raise TypeError(f"the reference takes no {', '.join(kwargs)}")
        if axis is None:
            return whole(input), torch.zeros((), dtype=torch.int64)
        return function(input, axis, keepdims)

    return called


def floor_divide(x: Anything, y: Anything) -> Tensor:
    """With a gradient, which is zero: torch.floor_divide has none."""
    return torch.div(x, y, rounding_mode="floor")


# --- layers and losses -------------------------------------------------------------------------


def _convolution(function: Function) -> Function:
    def convolved(*, pad_mode: str = "valid", padding: object = 0, **rest: object) -> Tensor:
        around = padding if pad_mode == "pad" else pad_mode
        return function(padding=around, **rest)  # type: ignore[no-any-return]  # torch's function, by name

    return by_name(convolved, "input weight bias stride pad_mode padding dilation groups")


def _average_pool(*, divisor_override: int = 0, **rest: Anything) -> Tensor:
    return F.avg_pool2d(divisor_override=divisor_override or None, **rest)


def _rms_norm(x: Tensor, gamma: Tensor, epsilon: float = 1e-6) -> tuple[Tensor, Tensor]:
    dims = tuple(range(x.dim() - gamma.dim(), x.dim()))
    factor = torch.rsqrt(x.square().mean(dims, keepdim=True) + epsilon)
    return x * factor * gamma, factor


def _batch_norm(*, training: bool = False, **rest: Anything) -> Tensor:
    if training:
        raise TypeError("the reference normalises by the running statistics only")
    return F.batch_norm(training=False, **rest)


def _dropout(
    input: Tensor, p: float = 0.5, training: bool = True, seed: int | None = None
) -> Tensor:
    return F.dropout(input, p, training)


def _same(names: str, place: Anything) -> dict[str, Meaning]:
    return {name: Meaning(name, with_keywords(getattr(place, name))) for name in names.split()}


_ONE = (
    "abs exp log sqrt rsqrt square neg sin cos tan tanh sigmoid sinh cosh asin acos atan asinh "
    "acosh atanh floor ceil round sign reciprocal erf erfc erfinv isnan isinf isfinite log1p expm1 "
    "log2 log10 trunc logical_not relu"
)
_TWO = (
    "add sub subtract mul multiply div divide pow maximum minimum ne not_equal gt ge lt le greater "
    "greater_equal less less_equal eq logical_and logical_or logical_xor atan2 hypot fmod "
    "remainder bitwise_and bitwise_or matmul bmm mm outer heaviside"
)
_MORE = (
    "addmm where tril triu flip roll tile narrow swapaxes swapdims broadcast_to lerp addcmul "
    "addcdiv einsum masked_fill masked_select zeros_like ones_like full_like unbind clamp clip "
    "reshape"
)
_LAYERS = (
    "elu celu selu relu6 hardswish hardsigmoid hardshrink softshrink softsign prelu silu mish "
    "logsigmoid layer_norm group_norm adaptive_avg_pool2d normalize cosine_similarity"
)


_POOL = "input_x kernel_size stride padding ceil_mode count_include_pad divisor_override"
_NORM = "input_x running_mean running_var weight bias training momentum eps"


def _table() -> dict[str, Meaning]:
    named: dict[str, tuple[str, Function]] = {
        "equal": ("eq", torch.eq),
        "floor_div": ("floor_divide", floor_divide),
        "gelu": ("gelu", by_name(F.gelu, "input approximate")),
        "floor_mod": ("remainder", torch.remainder),
        "dense": ("linear", F.linear),
        "baddbmm": ("baddbmm", by_name(torch.baddbmm, "input batch1 batch2 beta alpha")),
        "cast": ("to", lambda input, dtype: input.to(dtype)),
        "shape": ("shape", lambda input_x: list(input_x.shape)),
        "size": ("numel", lambda input_x: input_x.numel()),
        "transpose": ("permute", lambda input, input_perm: input.permute(*input_perm)),
        "permute": ("permute", lambda input, axis: input.permute(*axis)),
        "expand_dims": ("unsqueeze", by_name(torch.unsqueeze, "input axis")),
        "unsqueeze": ("unsqueeze", by_name(torch.unsqueeze, "input dim")),
        "squeeze": ("squeeze", _squeeze),
        "flatten": ("flatten", _flatten),
        "cat": ("cat", by_name(torch.cat, "tensors axis")),
        "concat": ("cat", by_name(torch.cat, "tensors axis")),
        "stack": ("stack", by_name(torch.stack, "tensors axis")),
        "split": ("split", by_name(torch.split, "tensor split_size_or_sections axis")),
        "chunk": ("chunk", by_name(torch.chunk, "input chunks axis")),
        "gather": ("index_select", _gather),
        "gather_nd": ("index", _gather_nd),
        "gather_elements": ("gather", with_long_indices(by_name(torch.gather, "input dim index"))),
        "index_select": (
            "index_select",
            with_long_indices(by_name(torch.index_select, "input axis index")),
        ),
        "one_hot": ("one_hot", _one_hot),
        "sum": ("sum", _reduction(torch.sum)),
        "mean": ("mean", _reduction(torch.mean)),
        "amax": ("amax", _reduction(torch.amax)),
        "amin": ("amin", _reduction(torch.amin)),
        "prod": ("prod", _reduction(_prod)),
        "all": ("all", _reduction(torch.all)),
        "any": ("any", _reduction(torch.any)),
        "logsumexp": ("logsumexp", by_name(torch.logsumexp, "input dim keepdim")),
        "std": ("std", _deviation(torch.std)),
        "var": ("var", _deviation(torch.var)),
        "max": ("max", _extreme(torch.max, torch.max)),
        "min": ("min", _extreme(torch.min, torch.min)),
        "argmax": ("argmax", by_name(torch.argmax, "input dim keepdim")),
        "argmin": ("argmin", by_name(torch.argmin, "input axis keepdims")),
        "cumsum": ("cumsum", by_name(torch.cumsum, "x axis dtype")),
        "cumprod": ("cumprod", by_name(torch.cumprod, "input dim dtype")),
        "sort": ("sort", by_name(torch.sort, "input_x axis descending", dim=-1)),
        "argsort": ("argsort", by_name(torch.argsort, "input axis descending", dim=-1)),
        "topk": ("topk", by_name(torch.topk, "input k dim largest sorted", dim=-1)),
        "softmax": ("softmax", by_name(F.softmax, "input axis dtype", dim=-1)),
        "log_softmax": ("log_softmax", by_name(F.log_softmax, "logits>input axis", dim=-1)),
        "softmin": ("softmin", by_name(F.softmin, "x axis dtype", dim=-1)),
        "leaky_relu": (
            "leaky_relu",
            by_name(F.leaky_relu, "input alpha>negative_slope", negative_slope=0.2),
        ),
        "softplus": ("softplus", by_name(F.softplus, "input beta threshold")),
        "hardtanh": ("hardtanh", by_name(F.hardtanh, "input min_val max_val")),
        "glu": ("glu", by_name(F.glu, "x axis")),
        "conv1d": ("conv1d", _convolution(F.conv1d)),
        "conv2d": ("conv2d", _convolution(F.conv2d)),
        "conv3d": ("conv3d", _convolution(F.conv3d)),
        "avg_pool2d": ("avg_pool2d", by_name(_average_pool, _POOL, kernel_size=1, stride=1)),
        "max_pool2d": (
            "max_pool2d",
            by_name(F.max_pool2d, "x kernel_size stride padding dilation return_indices ceil_mode"),
        ),
        "rms_norm": ("rms_norm", _rms_norm),
        "batch_norm": ("batch_norm", by_name(_batch_norm, _NORM)),
        "dropout": ("dropout", _dropout),
        "embedding": (
            "embedding",
            by_name(F.embedding, "input weight padding_idx max_norm norm_type scale_grad_by_freq"),
        ),
        "mse_loss": ("mse_loss", by_name(F.mse_loss, "input target reduction")),
        "l1_loss": ("l1_loss", by_name(F.l1_loss, "input target reduction")),
        "smooth_l1_loss": (
            "smooth_l1_loss",
            by_name(F.smooth_l1_loss, "input target beta reduction", reduction="none"),
        ),
        "huber_loss": ("huber_loss", by_name(F.huber_loss, "input target reduction delta")),
        "cross_entropy": (
            "cross_entropy",
            with_long_indices(
                by_name(
                    F.cross_entropy, "input target weight ignore_index reduction label_smoothing"
                )
            ),
        ),
        "nll_loss": (
            "nll_loss",
            with_long_indices(
                by_name(F.nll_loss, "inputs>input target weight ignore_index reduction")
            ),
        ),
        "binary_cross_entropy": (
            "binary_cross_entropy",
            by_name(F.binary_cross_entropy, "logits>input labels>target weight reduction"),
        ),
        "binary_cross_entropy_with_logits": (
            "binary_cross_entropy_with_logits",
            by_name(F.binary_cross_entropy_with_logits, "input target weight pos_weight reduction"),
        ),
        "kl_div": ("kl_div", by_name(F.kl_div, "logits>input labels>target reduction")),
    }
    same = _same(f"{_ONE} {_TWO} {_MORE}", torch) | _same(_LAYERS, F)
    return same | {name: Meaning(*both) for name, both in named.items()}


OPS = _table()
