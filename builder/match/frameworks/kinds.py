"""What MindSpore and PyTorch call the same things: layers, parameters, calls.

Read from the two frameworks' own documentation and from dumps of the same model in both. Names that
are equal are not listed, but for the layers: those are listed by PyTorch's names.
"""

from __future__ import annotations

PREFIXES = {
    "Cell": "Module",
    "Mint": "Torch",
    "MintFunctional": "Functional",
    "MintDistributed": "Distributed",
    "Primitive": "Torch",
}

CLASSES = {
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

PARAMETERS = {
    "gamma": "weight",
    "beta": "bias",
    "moving_mean": "running_mean",
    "moving_variance": "running_var",
    "embedding_table": "weight",
    "w": "weight",
}

CALLS = {
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
PRIMITIVES = {
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

_PLAIN = (
    "Linear Bilinear Identity Flatten Unflatten Embedding EmbeddingBag Dropout Dropout1d Dropout2d "
    "Dropout3d AlphaDropout LayerNorm RMSNorm GroupNorm BatchNorm1d BatchNorm2d BatchNorm3d "
    "SyncBatchNorm InstanceNorm1d InstanceNorm2d InstanceNorm3d LocalResponseNorm Conv1d Conv2d "
    "Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d Unfold Fold PixelShuffle "
    "PixelUnshuffle Upsample"
)
_POOLS = (
    "MaxPool1d MaxPool2d MaxPool3d MaxUnpool1d MaxUnpool2d MaxUnpool3d AvgPool1d AvgPool2d "
    "AvgPool3d AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d "
    "AdaptiveMaxPool2d AdaptiveMaxPool3d FractionalMaxPool2d LPPool1d LPPool2d ZeroPad2d "
    "ConstantPad1d ConstantPad2d ConstantPad3d ReflectionPad1d ReflectionPad2d ReplicationPad1d "
    "ReplicationPad2d"
)
_ACTIVATIONS = (
    "ReLU ReLU6 LeakyReLU PReLU RReLU ELU CELU SELU GELU SiLU Mish Softplus Softsign Tanh "
    "Tanhshrink Sigmoid LogSigmoid Hardsigmoid Hardswish Hardshrink Softshrink Hardtanh Threshold "
    "GLU Softmax LogSoftmax Softmin Softmax2d"
)
_RECURRENT = "RNN LSTM GRU RNNCell LSTMCell GRUCell MultiheadAttention"
_LOSSES = (
    "MSELoss L1Loss SmoothL1Loss HuberLoss CrossEntropyLoss NLLLoss BCELoss BCEWithLogitsLoss "
    "KLDivLoss CTCLoss PoissonNLLLoss GaussianNLLLoss HingeEmbeddingLoss MarginRankingLoss "
    "MultiLabelMarginLoss MultiMarginLoss SoftMarginLoss TripletMarginLoss CosineEmbeddingLoss "
    "CosineSimilarity"
)
LAYERS = frozenset(f"{_PLAIN} {_POOLS} {_ACTIVATIONS} {_RECURRENT} {_LOSSES}".split())
"""Classes of either framework whose calls are one computation, however each makes it."""
