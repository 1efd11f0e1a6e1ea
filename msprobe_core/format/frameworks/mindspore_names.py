"""MindSpore: its names by PyTorch's, its defaults, and what else its dumps have of their own.

Names were read from the two frameworks' own documentation and from dumps of the same model in both.
"""

from __future__ import annotations

from msprobe_core.format.frameworks.description import Default, FrameworkDescription, Words

_PREFIXES = {
    "Cell": "Module",
    "Mint": "Torch",
    "MintFunctional": "Functional",
    "MintDistributed": "Distributed",
    "Primitive": "Torch",
}

_CLASSES = {
    "Dense": "Linear",
    "BiDense": "Bilinear",
    "SequentialCell": "Sequential",
    "CellList": "ModuleList",
    "CellDict": "ModuleDict",
    "Conv1dTranspose": "ConvTranspose1d",
    "Conv2dTranspose": "ConvTranspose2d",
    "Conv3dTranspose": "ConvTranspose3d",
    "EmbeddingLookup": "Embedding",
    "HSigmoid": "Hardsigmoid",
    "HSwish": "Hardswish",
    "HShrink": "Hardshrink",
    "SoftShrink": "Softshrink",
    "SeLU": "SELU",
}

_PARAMETERS = {
    "gamma": "weight",
    "beta": "bias",
    "moving_mean": "running_mean",
    "moving_variance": "running_var",
    "embedding_table": "weight",
    "w": "weight",
}

_CALLS = {
    "dense": "linear",
    "bidense": "bilinear",
    "equal": "eq",
    "not_equal": "ne",
    "greater": "gt",
    "greater_equal": "ge",
    "less": "lt",
    "less_equal": "le",
    "swapaxes": "transpose",
    "gather_elements": "gather",
    "asnumpy": "numpy",
    "expand_dims": "unsqueeze",
    "broadcast_to": "expand",
    "astype": "to",
    "concat": "cat",
    "reduce_sum": "sum",
    "reduce_mean": "mean",
    "reduce_max": "amax",
    "reduce_min": "amin",
    "batch_matmul": "matmul",
}

# Primitives are attributes of a cell, `<attribute>.<Class>`: the class says what they compute.
_PRIMITIVES = {
    "Add": "add",
    "Sub": "sub",
    "Mul": "mul",
    "Div": "div",
    "RealDiv": "div",
    "Pow": "pow",
    "MatMul": "matmul",
    "BatchMatMul": "matmul",
    "Dense": "linear",
    "Reshape": "reshape",
    "Transpose": "permute",
    "ExpandDims": "unsqueeze",
    "Squeeze": "squeeze",
    "Concat": "cat",
    "Stack": "stack",
    "Split": "split",
    "Cast": "to",
    "ReduceSum": "sum",
    "ReduceMean": "mean",
    "Softmax": "softmax",
    "LogSoftmax": "log_softmax",
    "ReLU": "relu",
    "GeLU": "gelu",
    "SiLU": "silu",
    "Sigmoid": "sigmoid",
    "Tanh": "tanh",
    "Exp": "exp",
    "Log": "log",
    "Sqrt": "sqrt",
    "Rsqrt": "rsqrt",
    "Square": "square",
    "Neg": "neg",
    "Abs": "abs",
    "Gather": "index_select",
    "Dropout": "dropout",
}

# They are the usual reason why a layer that was ported by name puts out something else. Sources:
# the signatures of MindSpore 2.10 and PyTorch 2.13.
_EPSILON = Default("LayerNorm's epsilon", "1e-07", "1e-05")
_GELU = Default("GELU's approximation by tanh", "on for nn.GELU", "off")
_MOMENTUM = Default(
    "BatchNorm's momentum", "0.9 (the share of the old average)", "0.1 (the share of the new)"
)
_PADDING = Default("a convolution's padding", "pad_mode 'same'", "none")
_BIAS = Default("a convolution's bias", "off", "on")
_EMBEDDING = Default("an embedding's initial weight", "normal with deviation 0.01", "with 1")
_DROPOUT = Default("Dropout's p", "0.5, keep_prob in older releases", "0.5")

_SLOPE = Default("LeakyReLU's slope below zero", "0.2", "0.01")
_REDUCTION = Default("SmoothL1Loss's reduction", "'none'", "'mean'")
_DIVISOR = Default("the divisor of std and var", "the number of elements, in ops", "one less")
_STRIDE = Default("a pooling layer's stride", "1", "the size of its kernel")

_CONVOLUTION = (_PADDING, _BIAS)
_POOLS = ("AvgPool1d", "AvgPool2d", "AvgPool3d", "MaxPool1d", "MaxPool2d", "MaxPool3d")
_DEFAULTS = {
    "LayerNorm": (_EPSILON,),
    "layer_norm": (_EPSILON,),
    "GELU": (_GELU,),
    "gelu": (_GELU,),
    "BatchNorm1d": (_MOMENTUM,),
    "BatchNorm2d": (_MOMENTUM,),
    "BatchNorm3d": (_MOMENTUM,),
    "Conv1d": _CONVOLUTION,
    "Conv2d": _CONVOLUTION,
    "Conv3d": _CONVOLUTION,
    "ConvTranspose1d": _CONVOLUTION,
    "ConvTranspose2d": _CONVOLUTION,
    "ConvTranspose3d": _CONVOLUTION,
    "Embedding": (_EMBEDDING,),
    "Dropout": (_DROPOUT,),
    "LeakyReLU": (_SLOPE,),
    "leaky_relu": (_SLOPE,),
    "SmoothL1Loss": (_REDUCTION,),
    "smooth_l1_loss": (_REDUCTION,),
    **dict.fromkeys(("std", "var", "std_mean", "var_mean"), (_DIVISOR,)),
    **dict.fromkeys(_POOLS, (_STRIDE,)),
}

MINDSPORE = FrameworkDescription(
    name="mindspore",
    display="MindSpore",
    short="ms",
    packages=("mindspore",),
    distributions=("mindspore",),
    module_prefixes=("Cell",),
    communication=("MintDistributed",),
    tensor_type="mindspore.Tensor",
    dtype_type="mindspore.dtype",
    tells_requires_grad=False,
    gradients="of_inputs",
    words=Words(
        prefixes=_PREFIXES,
        classes=_CLASSES,
        parameters=_PARAMETERS,
        calls=_CALLS,
        members={"Primitive": _PRIMITIVES},
        defaults=_DEFAULTS,
    ),
    # It computes them as convolutions over pictures of height 1, and so are their kernels.
    height_one=frozenset(("Conv1d", "ConvTranspose1d")),
    recomputing=frozenset(("_RecomputeCell", "_WrapCell")),
    dumps_static_graphs=True,
    acc_check="msprobe.acc_check.mindspore.mindspore_framework:MINDSPORE",
)
