"""Calls of MindSpore's that the pre-check has a reference for, each as a dump holds it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from msprobe.acc_check.plan import Call

_DRAW = np.random.RandomState(5)
X, Y = (_DRAW.standard_normal((4, 6)).astype(np.float32) for _ in range(2))
POSITIVE = np.abs(X) + np.float32(0.5)
SMALL = (X / 8).astype(np.float32)
ROW = _DRAW.standard_normal(6).astype(np.float32)
W = _DRAW.standard_normal((5, 6)).astype(np.float32)
BATCH = _DRAW.standard_normal((2, 3, 4)).astype(np.float32)
IMAGE = _DRAW.standard_normal((2, 3, 6, 6)).astype(np.float32)
KERNEL = _DRAW.standard_normal((4, 3, 3, 3)).astype(np.float32)
MASK, TRUTH = X > 0, Y > 0
LABELS = np.array([1, 5, 0, 3], np.int32)
ROWS = np.array([3, 0, 0], np.int32)
CHANCE = (1 / (1 + np.exp(-X))).astype(np.float32)

_ONE = (
    "abs exp square neg sin cos tan tanh sigmoid sinh cosh floor ceil round sign erf erfc isinf "
    "isfinite expm1 relu"
)
_ROOTS = "log sqrt rsqrt reciprocal log1p log2 log10"
_TWO = (
    "add sub mul div maximum minimum greater greater_equal less less_equal not_equal ne gt ge le "
    "eq atan2"
)
_OPERATORS = "add sub mul truediv lt le gt ge eq ne"


def calls() -> Iterator[Call]:
    """Every call, with a backward pass where it has one."""
    for prefix in ("Mint", "Functional", "Tensor"):
        for name in _ONE.split():
            yield call(f"{prefix}.{name}", X)
        for name in _ROOTS.split():
            yield call(f"{prefix}.{name}", POSITIVE)
        for name in _TWO.split():
            yield call(f"{prefix}.{name}", X, Y)
        yield from _of_any_place(prefix)
    for name in _OPERATORS.split():
        yield call(f"Tensor.__{name}__", X, ROW)
    for name, *given in (*_MINT, *_FUNCTIONAL, *_TENSOR, *_PRIMITIVES):
        kwargs = given.pop() if isinstance(given[-1], dict) else {}
        yield call(str(name), *given, **kwargs)


def _of_any_place(prefix: str) -> Iterator[Call]:
    yield call(f"{prefix}.pow", POSITIVE, 1.5)
    yield call(f"{prefix}.matmul", X, W.T.copy())
    yield call(f"{prefix}.bmm", BATCH, BATCH.transpose(0, 2, 1).copy())
    yield call(f"{prefix}.logical_and", MASK, TRUTH)
    yield call(f"{prefix}.logical_not", MASK)
    yield call(f"{prefix}.clamp", X, -0.5, 0.5)
    yield call(f"{prefix}.sum", BATCH)
    yield call(f"{prefix}.sum", BATCH, 1, True)
    yield call(f"{prefix}.mean", BATCH)
    yield call(f"{prefix}.mean", BATCH, [0, 2], True)
    yield call(f"{prefix}.prod", BATCH, 1)
    yield call(f"{prefix}.all", MASK)
    yield call(f"{prefix}.any", MASK, 1)
    yield call(f"{prefix}.max", X)
    yield call(f"{prefix}.max", X, 1)
    yield call(f"{prefix}.min", X, 1, True)
    yield call(f"{prefix}.argmax", X, 1)
    yield call(f"{prefix}.argmin", X, 1)
    yield call(f"{prefix}.topk", X, 2)
    yield call(f"{prefix}.sort", X)
    yield call(f"{prefix}.argsort", X)
    yield call(f"{prefix}.cumsum", X, 1)
    yield call(f"{prefix}.reshape", X, [3, 8])
    yield call(f"{prefix}.flatten", BATCH)
    yield call(f"{prefix}.squeeze", BATCH[:1].copy(), 0)
    yield call(f"{prefix}.unsqueeze", X, 1)
    yield call(f"{prefix}.split", X, 2)
    yield call(f"{prefix}.chunk", X, 2)
    yield call(f"{prefix}.tile", X, [2, 1])
    yield call(f"{prefix}.broadcast_to", ROW, [3, 6])
    yield call(f"{prefix}.narrow", X, 1, 2, 3)
    yield call(f"{prefix}.index_select", X, 0, ROWS)
    yield call(f"{prefix}.masked_select", X, MASK)
    yield call(f"{prefix}.tril", X)
    yield call(f"{prefix}.triu", X, 1)
    yield call(f"{prefix}.swapaxes", BATCH, 0, 2)


_MINT: list[tuple[Any, ...]] = [
    ("Mint.transpose", BATCH, 0, 2),
    ("Mint.permute", BATCH, [2, 0, 1]),
    ("Mint.cat", [X, Y], 1),
    ("Mint.stack", [X, Y]),
    ("Mint.where", MASK, X, Y),
    ("Mint.gather", X, 1, np.array([[1], [0], [5], [2]], np.int64)),
    ("Mint.add", X, Y, {"alpha": 2}),
    ("Mint.std", X, 1),
    ("Mint.var", X),
    ("Mint.softmax", X, 1),
    ("Mint.zeros_like", X),
    ("Mint.flip", X, [1]),
    ("Mint.logsumexp", X, 1),
    ("Mint.repeat_interleave", X, 2, 1),
    ("MintFunctional.softmax", X, -1),
    ("MintFunctional.log_softmax", X, -1),
    ("MintFunctional.relu", X),
    ("MintFunctional.silu", X),
    ("MintFunctional.sigmoid", X),
    ("MintFunctional.leaky_relu", X),
    ("MintFunctional.gelu", X),
    ("MintFunctional.linear", X, W),
    ("MintFunctional.elu", X),
    ("MintFunctional.dropout", X, 0.5),
    ("MintFunctional.mse_loss", X, Y, "sum"),
    ("MintFunctional.layer_norm", X, [6], ROW, ROW),
    ("MintFunctional.embedding", ROWS, X),
    ("MintFunctional.cross_entropy", X, LABELS),
    ("MintFunctional.conv2d", IMAGE, KERNEL),
    ("MintFunctional.binary_cross_entropy", CHANCE, CHANCE.copy()),
    ("MintFunctional.binary_cross_entropy_with_logits", X, CHANCE),
    ("MintFunctional.smooth_l1_loss", X, Y),
    ("MintFunctional.one_hot", LABELS.astype(np.int64), 6),
    ("MintFunctional.pad", X, [1, 2]),
    ("MintFunctional.max_pool2d", IMAGE, 2),
    ("MintFunctional.avg_pool2d", IMAGE, 2),
    ("MintFunctional.normalize", X),
]
_FUNCTIONAL: list[tuple[Any, ...]] = [
    ("Functional.transpose", BATCH, [2, 0, 1]),
    ("Functional.permute", BATCH, [2, 0, 1]),
    ("Functional.cat", [X, Y], 1),
    ("Functional.concat", [X, Y], {"axis": 1}),
    ("Functional.stack", [X, Y], 1),
    ("Functional.where", MASK, X, Y),
    ("Functional.gather", X, ROWS, 0),
    ("Functional.gather_elements", X, 1, np.array([[1], [0], [5], [2]], np.int32)),
    ("Functional.gather_nd", X, np.array([[1, 2], [0, 0]], np.int32)),
    ("Functional.expand_dims", X, 1),
    ("Functional.equal", X, X.copy()),
    ("Functional.floor_div", X, 0.5),
    ("Functional.floor_mod", X, POSITIVE),
    ("Functional.std", X, 1),
    ("Functional.var", X, 1, 1),
    ("Functional.amax", X, 1),
    ("Functional.cumprod", X, 1),
    ("Functional.logsumexp", X, 1),
    ("Functional.softmax", X),
    ("Functional.softmax", X, {"axis": 0}),
    ("Functional.log_softmax", X),
    ("Functional.relu6", X),
    ("Functional.silu", X),
    ("Functional.gelu", X),
    ("Functional.gelu", X, "tanh"),
    ("Functional.elu", X),
    ("Functional.celu", X, 0.5),
    ("Functional.leaky_relu", X),
    ("Functional.softplus", X),
    ("Functional.softsign", X),
    ("Functional.mish", X),
    ("Functional.hardtanh", X),
    ("Functional.hardswish", X),
    ("Functional.hardsigmoid", X),
    ("Functional.hardshrink", X),
    ("Functional.softshrink", X),
    ("Functional.logsigmoid", X),
    ("Functional.prelu", X, np.array([0.25], np.float32)),
    ("Functional.glu", X),
    ("Functional.dense", X, W, W[:, 0].copy()),
    ("Functional.addmm", SMALL[:, :5].copy(), X, W.T.copy()),
    ("Functional.cross_entropy", X, LABELS),
    ("Functional.cross_entropy", X, LABELS, None, -100, "sum", 0.1),
    ("Functional.nll_loss", SMALL, LABELS),
    ("Functional.mse_loss", X, Y),
    ("Functional.l1_loss", X, Y, "sum"),
    ("Functional.smooth_l1_loss", X, Y, 0.5),
    ("Functional.huber_loss", X, Y),
    ("Functional.binary_cross_entropy", CHANCE, CHANCE.copy()),
    (
        *("Functional.binary_cross_entropy_with_logits", X, CHANCE, POSITIVE, POSITIVE[0].copy()),
        {"constant": [2, 3]},
    ),
    ("Functional.kl_div", SMALL, CHANCE, "sum", {"constant": [1]}),
    ("Functional.layer_norm", X, [6], ROW, ROW),
    ("Functional.rms_norm", X, ROW),
    ("Functional.group_norm", IMAGE, 3),
    ("Functional.conv1d", BATCH, KERNEL[:, :, 0].copy()),
    ("Functional.conv2d", IMAGE, KERNEL),
    ("Functional.conv2d", IMAGE, KERNEL, None, 2, "pad", 1),
    ("Functional.conv2d", IMAGE, KERNEL, None, 1, "same"),
    ("Functional.max_pool2d", IMAGE, 2),
    ("Functional.avg_pool2d", IMAGE, 2, 2),
    ("Functional.dropout", X, 0.5),
    ("Functional.one_hot", LABELS, 6, 1.0, 0.0),
    ("Functional.shape", X),
    ("Functional.size", X),
    ("Functional.zeros_like", X),
    ("Functional.flip", X, [0]),
    ("Functional.roll", X, 2, 1),
    ("Functional.lerp", X, Y, 0.3),
    ("Functional.addcmul", X, Y, Y),
    ("Functional.masked_fill", X, MASK, 0.5),
    ("Functional.outer", ROW, ROW),
    ("Functional.cosine_similarity", X, Y),
]
_TENSOR: list[tuple[Any, ...]] = [
    ("Tensor.transpose", BATCH, 0, 2),
    ("Tensor.transpose", BATCH, [2, 0, 1]),
    ("Tensor.transpose", BATCH, 2, 0, 1),
    ("Tensor.permute", BATCH, 2, 0, 1),
    ("Tensor.reshape", X, 3, -1),
    ("Tensor.view", X, 8, 3),
    ("Tensor.masked_fill", X, MASK, 0.5),
    ("Tensor.expand_as", ROW, X),
    ("Tensor.where", X, MASK, Y),
    ("Tensor.gather", X, 1, np.array([[1], [0], [5], [2]], np.int64)),
    ("Tensor.repeat_interleave", X, 2, 1),
    ("Tensor.unbind", X),
    ("Tensor.roll", X, 1, 0),
    ("Tensor.half", X),
    ("Tensor.int", X),
    ("Tensor.__matmul__", X, W.T.copy()),
    ("Tensor.__getitem__", X, 1),
    ("Tensor.__getitem__", X, [slice(None), slice(0, 6, 2)]),
    ("Tensor.__neg__", X),
    ("Tensor.__pow__", POSITIVE, 2),
    ("Tensor.__rsub__", X, 1.0),
    ("Tensor.__radd__", X, 1.0),
    ("Tensor.__rmul__", X, 3.0),
    ("Tensor.__floordiv__", X, 0.5),
    ("Tensor.__mod__", X, 0.7),
    ("Tensor.__invert__", MASK),
    ("Tensor.__and__", MASK, TRUTH),
    ("Tensor.__or__", MASK, TRUTH),
]
_PRIMITIVES: list[tuple[Any, ...]] = [
    ("Primitive.a.ReLU", X),
    ("Primitive.a.SiLU", X),
    ("Primitive.a.Add", X, Y),
    ("Primitive.a.RealDiv", X, POSITIVE),
    ("Primitive.a.Tanh", X),
    ("Primitive.a.BiasAdd", X, ROW),
    ("Primitive.a.BiasAdd", IMAGE, ROW[:3].copy()),
    ("Primitive.a.Dense", X, W, W[:, 0].copy()),
    ("Primitive.a.Reshape", X, [3, 8]),
    ("Primitive.a.Transpose", BATCH, [2, 0, 1]),
    ("Primitive.a.ExpandDims", X, 1),
    ("Primitive.a.Gather", X, ROWS, 0),
    ("Primitive.a.Shape", X),
    ("Primitive.a.MatMul", X, W, {"made": [4, 5]}),
    ("Primitive.a.BatchMatMul", BATCH, BATCH, {"made": [2, 3, 3]}),
]


def call(
    name: str,
    *args: object,
    made: list[int] | None = None,
    constant: Sequence[int] = (),
    **kwargs: object,
) -> Call:
    """The entry of `<Prefix>.<api>`: of its output the shape `made` is known, if it is told.

    Gradients come where a floating tensor goes in that is not `constant`.
    """
    prefix, _, api = name.partition(".")
    arrays = [each for arg in args for each in (arg if isinstance(arg, list) else [arg])]
    floats = any(isinstance(each, np.ndarray) and each.dtype.kind == "f" for each in arrays)
    gradient = {"type": "mindspore.Tensor", "dtype": "Float32", "shape": [0], "Max": 1.0}
    forward = {
        "input_args": [
            {**record(arg), "requires_grad": False} if number in constant else record(arg)
            for number, arg in enumerate(args)
        ],
        "input_kwargs": {key: record(value) for key, value in kwargs.items()},
        "output": [] if made is None else [{**gradient, "shape": made}],
    }
    backward = {"input": [gradient], "output": []} if floats else None
    return Call(f"{name}.0", prefix, api, forward, backward)


def record(value: Any) -> Any:
    """A value as dump.json has it, statistics and all."""
    if isinstance(value, np.ndarray):
        told = {"type": "mindspore.Tensor", "dtype": _DTYPES[value.dtype.name]}
        numbers = {"Max": value.max().item(), "Min": value.min().item()}
        if value.dtype.kind == "f":
            wide = value.astype(np.float64)
            numbers |= {"Mean": wide.mean().item(), "Norm": np.linalg.norm(wide).item()}
        return {**told, "shape": list(value.shape), **numbers}
    if isinstance(value, list):
        return [record(each) for each in value]
    if isinstance(value, slice):
        return {"type": "slice", "value": [value.start, value.stop, value.step]}
    if isinstance(value, np.dtype):
        return {"type": "mindspore.dtype", "value": _DTYPES[value.name]}
    return None if value is None else {"type": type(value).__name__, "value": value}


_DTYPES = {
    "float16": "Float16",
    "float32": "Float32",
    "int32": "Int32",
    "int64": "Int64",
    "bool": "Bool",
}
