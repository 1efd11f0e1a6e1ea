"""What MindSpore's functions and methods are in PyTorch: what their results are held to.

`mint` and `mint.nn.functional` promise PyTorch's names, arguments and results, and are taken at
their word but for what is listed here. `ops` and the methods of `Tensor` promise nothing: what is
not listed has no reference, and its calls are skipped with that reason. Sources: signatures and
documentation of MindSpore 2.10; tests run what has a kernel on the CPU there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from msprobe.acc_check.functions import find_function as find_in_torch
from msprobe.acc_check.mindspore.ops_in_torch import OPS, floor_divide
from msprobe.acc_check.mindspore.words import (
    Meaning,
    by_name,
    with_keywords,
    with_long_indices,
)
from msprobe.acc_check.values import NotReproducible


def meaning_of(prefix: str, api: str) -> Meaning:
    """What a call of MindSpore computes; raises NotReproducible where that is not known here."""
    listed = _LISTED.get(prefix, {}).get(api)
    if listed is not None:
        return listed
    known = prefix in _PROMISED or (prefix == "Tensor" and api in _LIKE_TORCHS)
    for place in _PROMISED.get(prefix, ("Tensor",)) if known else ():
        try:
            function = with_keywords(find_in_torch(place, api))
        except NotReproducible:
            continue
        return Meaning(api, with_long_indices(function) if api in _INDEXED else function)
    raise NotReproducible(
        f"nothing of PyTorch is known here that computes what {prefix}.{api} does"
    )


_PROMISED = {"Mint": ("Torch", "Functional"), "MintFunctional": ("Functional", "Torch")}
_INDEXED = frozenset(
    "gather scatter scatter_add index_select index_add take one_hot take_along_dim".split()
)

# Losses of PyTorch have two arguments more, softmax one, in the middle.
_FUNCTIONAL = {
    "softmax": by_name(F.softmax, "input dim dtype", dim=-1),
    "log_softmax": by_name(F.log_softmax, "input dim dtype", dim=-1),
    "mse_loss": by_name(F.mse_loss, "input target reduction"),
    "l1_loss": by_name(F.l1_loss, "input target reduction"),
    "smooth_l1_loss": by_name(F.smooth_l1_loss, "input target reduction beta"),
    "soft_margin_loss": by_name(F.soft_margin_loss, "input target reduction"),
    "cosine_embedding_loss": by_name(
        F.cosine_embedding_loss, "input1 input2 target margin reduction"
    ),
    "binary_cross_entropy": by_name(F.binary_cross_entropy, "input target weight reduction"),
    "binary_cross_entropy_with_logits": by_name(
        F.binary_cross_entropy_with_logits, "input target weight reduction pos_weight"
    ),
    "kl_div": by_name(F.kl_div, "input target reduction log_target"),
    "cross_entropy": with_long_indices(
        by_name(F.cross_entropy, "input target weight ignore_index reduction label_smoothing")
    ),
    "nll_loss": with_long_indices(
        by_name(F.nll_loss, "input target weight ignore_index reduction")
    ),
}


def _transposed(self: Tensor, *axes: Any) -> Tensor:
    """Two numbers are swapped, another count of them is the order of all."""
    order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
    if len(order) == 2 and isinstance(axes[0], int):
        return self.transpose(*order)
    return self.permute(*order) if order else self.permute(*reversed(range(self.dim())))


def _method(name: str) -> Meaning:
    """A method that takes the arguments of a function of `ops`."""
    found = OPS[name]
    return Meaning(found.api, found.function)


_METHODS = {
    "transpose": Meaning("transpose", _transposed),
    "__floordiv__": Meaning("floor_divide", floor_divide),
    "__rfloordiv__": Meaning("floor_divide", lambda self, other: floor_divide(other, self)),
    "floor_divide": Meaning("floor_divide", floor_divide),
    "to": Meaning("to", lambda self, dtype: self.to(dtype)),
    "gather": Meaning("gather", with_long_indices(with_keywords(torch.Tensor.gather))),
    "scatter": Meaning("scatter", with_long_indices(with_keywords(torch.Tensor.scatter))),
    "index_select": Meaning(
        "index_select", with_long_indices(with_keywords(torch.Tensor.index_select))
    ),
    **{name: _method(name) for name in "sum mean prod all any amax amin".split()},
}
# The operators of Python and what has one meaning only.
_LIKE_TORCHS = frozenset(
    (
        "__abs__ __add__ __and__ __eq__ __ge__ __getitem__ __gt__ __invert__ "
        "__le__ __lt__ __matmul__ __mod__ __mul__ __ne__ __neg__ __or__ __pow__ __radd__ "
        "__rmatmul__ __rmod__ __rmul__ __rpow__ __rsub__ __sub__ __truediv__ "
        "__xor__ abs exp log sqrt rsqrt square neg sin cos tan tanh sigmoid sinh cosh floor "
        "ceil round sign reciprocal erf erfc isnan isinf isfinite log1p expm1 log2 trunc relu "
        "add sub mul div pow maximum minimum matmul bmm addmm eq ne gt ge lt le logical_and "
        "logical_or logical_not logical_xor reshape view permute unsqueeze squeeze swapaxes "
        "expand_as broadcast_to tile repeat_interleave narrow chunk unbind masked_fill "
        "masked_select where tril triu clamp clip argmax argmin cumsum sort argsort topk max "
        "min flatten roll view_as logsumexp contiguous clone float half int long bool "
        "type_as expand repeat remainder fmod lerp addcmul greater "
        "greater_equal less less_equal not_equal atan2 log10 split"
    ).split()
)
_LISTED: Mapping[str, Mapping[str, Meaning]] = {
    "Functional": OPS,
    "Tensor": _METHODS,
    "MintFunctional": {name: Meaning(name, made) for name, made in _FUNCTIONAL.items()},
    "Mint": {name: Meaning(name, _FUNCTIONAL[name]) for name in ("softmax",)}
    | {"permute": Meaning("permute", lambda input, dims: input.permute(*dims))},
}
