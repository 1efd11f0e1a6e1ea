"""One row a family of calls: what they do to elements, and how far apart they put them out.

Every other room asks this table by the name of a call. A family that is new to the tool gets its
row here and nowhere else; tests/builder/operators hold its gains against float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from builder.operators import gains as forward
from builder.operators import gradient_gains as backward
from builder.operators.gains import Factors, Gain, Operands, Result
from builder.operators.gradient_gains import Backward, Gradient, GradientGains

Trait = Literal[
    # what becomes of elements
    "moves",  # puts out elements that it read, or drops them: never further apart than they came
    "ordered",  # puts out what it reads, or the sum of it, in the same order of elements
    "linear",  # a sum of parts goes through it unharmed
    "reduces",  # sums: what its terms round to may be more than a rounding of what is left
    "chooses",  # compares and picks: no distance bounds what follows from another choice
    "picks",  # its gradient goes to the elements that a comparison picked
    "extremes",  # those are the largest or smallest of each window
    "gates",  # its gradient passes where an element lay on one side of a bound
    # what it is for
    "arithmetic",  # computes with two operands of one kind: what grows in it was not masked
    "sums",
    "divides",  # its last tensor is a divisor
    "product",  # autocast computes it in the lower precision
    "adds_onto",  # its first operand is multiplied by beta, and not read where that is 0
    "composite",  # records the gradient of the last of its inner calls alone
    "loss",
    "remembers",  # writes running statistics, for later steps, that its entry does not put out
    "converts",  # to another floating format
    "cuts",  # what it puts out is cut off from gradients
    "tells",  # what a tensor is like, its sizes or its format, and reads no element
    # what it does to shapes, by which a call without values is followed
    "join",
    "part",
    "repeat",
    "view",
    "turn",  # a view in another order of axes
    "keep",  # a view that changes no shape
    "cast",
    "pad",
    "bound",
    "create",
]


@dataclass(frozen=True, slots=True)
class Operator:
    """What is known of a call: its traits, and its gains where there are at least `operands`."""

    traits: frozenset[Trait] = frozenset()
    operands: int = 0
    gain: Gain | None = None
    gradient: Gradient | None = None


_UNKNOWN = Operator()
_FREE = (backward.sum_of_both, backward.spread, backward.spread_mean)


def operator(call: str) -> Operator:
    """The row of a call; one without traits and gains for a call that is not known."""
    return TABLE.get(call) or TABLE.get(plain_name(call), _UNKNOWN)


def plain_name(call: str) -> str:
    """The name of a call without the underscore of its in-place form."""
    return call if call.startswith("__") else call.rstrip("_")


def has(call: str, *traits: Trait) -> bool:
    """Whether a call has one of some traits."""
    return not operator(call).traits.isdisjoint(traits)


def gains_of(
    call: str, operands: Operands, factors: Factors, result: Result
) -> Sequence[float] | None:
    """The gain of each operand of a call; None for a call, or a use of it, that is not known.

    `factors` are the numbers that a call multiplies by (alpha, beta, value) and those that shape
    it; infinite gains say that a choice was made which no distance bounds.
    """
    row = operator(call)
    if row.gain is None or len(operands) < row.operands:
        return None
    return row.gain(operands, factors, result)


def is_gradient_free(call: str) -> bool:
    """Whether the gradient of a call depends on the shape alone of what it reads."""
    return operator(call).gradient in _FREE or has(call, "view", "turn", "repeat")


def gradient_gains(call: str, of: Backward) -> GradientGains | None:
    """The gains of one gradient of a call; None for a call, or a use of it, that is not known."""
    row = operator(call)
    if row.gradient is None or len(of.operands) < row.operands:
        return None
    return row.gradient(of)


# --- the table ------------------------------------------------------------------------------------


def _family(
    names: str,
    traits: str,
    operands: int = 1,
    gain: Gain | None = None,
    gradient: Gradient | None = None,
) -> dict[str, Operator]:
    """Calls that are alike; those that move elements have the gains of a move unless it says so."""
    listed = traits.split()
    assert set(listed) <= set(get_args(Trait)), traits
    if "moves" in listed:
        gain, gradient = gain or forward.moved, gradient or backward.moved
    known: frozenset[Trait] = frozenset(listed)  # type: ignore[arg-type]  # asserted above
    row = Operator(known, operands, gain, gradient)
    return dict.fromkeys(names.split(), row)


def _elementwise(names: str, steepest: float, bend: float, traits: str = "") -> dict[str, Operator]:
    """Functions of one element with |f′| ≤ steepest and |f″| ≤ bend."""
    gain, gradient = forward.lipschitz(steepest), backward.element(steepest, bend)
    return _family(names, traits, 1, gain, gradient)


_VIEWS = "moves linear ordered view"

TABLE: dict[str, Operator] = {
    # views, and what moves elements
    **_family("view view_as reshape reshape_as flatten unflatten ravel squeeze unsqueeze", _VIEWS),
    **_family("contiguous clone", f"{_VIEWS} keep"),
    **_family("detach", f"{_VIEWS} keep cuts"),
    **_family("numpy", "cuts"),
    **_family("permute transpose t swapaxes swapdims movedim moveaxis", "moves linear view turn"),
    **_family(
        "cat concat concatenate stack hstack vstack dstack column_stack row_stack",
        "moves linear join",
    ),
    **_family(
        "chunk split split_with_sizes tensor_split unbind hsplit vsplit dsplit unsafe_chunk "
        "unsafe_split unsafe_split_with_sizes narrow select index_select",
        "moves linear part",
    ),
    **_family("expand expand_as broadcast_to repeat repeat_interleave tile", "moves linear repeat"),
    **_family("to type type_as float half bfloat16 double", "moves linear converts cast"),
    **_family("int long bool byte char", "cast"),
    **_family("pad", "moves pad"),
    **_family(
        "masked_fill masked_select masked_scatter where __getitem__ __setitem__ index_copy "
        "index_put gather scatter take take_along_dim tril triu diag diagonal roll flip fill copy "
        "embedding dropout",
        "moves",
    ),
    **_family("neg __neg__", "moves ordered"),
    # bounds and choices
    **_family("clamp clamp_min clamp_max clip", "moves gates bound"),
    **_family("hardtanh relu6", "gates bound"),
    **_family("relu threshold abs __abs__ maximum minimum", "moves gates"),
    **_elementwise("leaky_relu", 1.0, 0.0, "gates"),
    **_family("prelu rrelu hardshrink softshrink hardswish hardsigmoid", "gates"),
    **_family("max min amax amin max_pool1d max_pool2d max_pool3d", "moves picks extremes"),
    **_family(
        "adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d fractional_max_pool2d",
        "picks extremes",
    ),
    **_family("topk sort", "moves picks chooses"),
    **_family("median kthvalue", "picks chooses"),
    **_family("cummax cummin", "picks"),
    **_family(
        "argsort argmax argmin multinomial nonzero unique one_hot eq ne lt le gt ge "
        "__eq__ __ne__ __lt__ __le__ __gt__ __ge__",
        "chooses",
    ),
    **_family(
        "arange zeros ones full empty eye linspace logspace zeros_like ones_like full_like "
        "empty_like tril_indices triu_indices identity",
        "create",
    ),
    **_family(
        "dim ndim ndimension size shape stride storage_offset numel nelement element_size itemsize "
        "get_device is_contiguous is_complex is_floating_point data_ptr",
        "tells",
    ),
    # arithmetic
    **_family(
        "add sub subtract __add__ __radd__ __iadd__ __sub__ __rsub__ __isub__ rsub",
        "sums ordered arithmetic",
        2,
        forward.sum_of_both,
        backward.sum_of_both,
    ),
    **_family(
        "mul multiply __mul__ __rmul__ __imul__",
        "arithmetic",
        2,
        forward.product,
        backward.product,
    ),
    **_family(
        "div __truediv__ true_divide divide __itruediv__",
        "arithmetic divides",
        2,
        forward.quotient,
        backward.quotient,
    ),
    **_family("__rtruediv__ __rdiv__ __idiv__ __div__ __rpow__ __ipow__", "arithmetic"),
    **_family("_foreach_div", "divides", 2, forward.quotient),
    **_family("reciprocal", "divides", 1, forward.reciprocal, backward.reciprocal),
    **_family("rsqrt", "divides", 1, forward.inverse_root, backward.inverse_root),
    **_family("sqrt", "", 1, forward.root, backward.root),
    **_family("_foreach_sqrt", "", 1, forward.root),
    **_family("log", "", 1, forward.logarithm, backward.logarithm),
    **_family("exp", "", 1, forward.exponential, backward.exponential),
    **_family("pow __pow__", "arithmetic", 2, forward.power, backward.power),
    **_family("addcmul _foreach_addcmul", "", 3, forward.onto(forward.product, "value")),
    **_family("addcdiv _foreach_addcdiv", "divides", 3, forward.onto(forward.quotient, "value")),
    **_family("lerp", "", 3, forward.interpolated),
    # functions of one element, and of a row
    **_elementwise("sin cos", 1.0, 1.0),
    **_elementwise("tanh", 1.0, 0.77),
    **_elementwise("softplus logsigmoid", 1.0, 0.25),
    **_elementwise("sigmoid", 0.25, 0.0963),
    **_elementwise("gelu", 1.13, 0.8),
    **_elementwise("silu", 1.1, 0.5),
    **_elementwise("mish", 1.09, 0.64),
    **_elementwise("elu", 1.0, 1.0),
    **_family("softmax _softmax", "", 1, forward.lipschitz(0.5), backward.softmax),
    **_family("log_softmax _log_softmax", "", 1, forward.lipschitz(2.0), backward.log_softmax),
    # sums of many terms
    **_family("sum", "reduces", 1, forward.added_up, backward.spread),
    **_family("mean", "reduces", 1, forward.mean, backward.spread_mean),
    **_family(
        "matmul __matmul__ mm bmm _int_mm",
        "reduces linear product",
        2,
        forward.matrix_product,
        backward.matrix_product,
    ),
    **_family("_grouped_mm", "reduces linear product", 2, forward.grouped_product),
    **_family("mv dot", "reduces linear", 2, forward.matrix_product, backward.matrix_product),
    **_family("linear", "reduces linear product", 2, forward.layer, backward.layer),
    **_family("conv1d conv2d conv3d", "reduces product", 2, forward.layer, backward.layer),
    **_family(
        "addmm baddbmm",
        "reduces product adds_onto",
        3,
        forward.onto(forward.matrix_product, "alpha"),
        backward.added_product,
    ),
    **_family("addmv", "reduces adds_onto", 3, forward.onto(forward.matrix_product, "alpha")),
    **_family("addr addbmm", "adds_onto"),
    **_family(
        "__rmatmul__ einsum conv_transpose1d conv_transpose2d conv_transpose3d "
        "scaled_dot_product_attention",
        "product",
    ),
    **_family("Linear Conv1D Conv1d Conv2d Conv3d", "product"),  # modules, where calls are missing
    **_family(
        "layer_norm rms_norm group_norm", "reduces", 1, forward.normalised, backward.normalised(0)
    ),
    **_family(
        "batch_norm instance_norm",
        "reduces remembers",
        1,
        forward.normalised,
        backward.normalised(2),
    ),
    **_family(
        "cross_entropy", "reduces loss composite", 1, forward.loss_of_rows, backward.loss_of_rows
    ),
    **_family("nll_loss", "reduces loss", 1, forward.loss_of_rows, backward.loss_of_rows),
}
"""By the name of a call without the underscore of its in-place form."""
