"""The layers that are compared as a whole across frameworks, by PyTorch's names."""

from __future__ import annotations

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
"""Classes whose calls are one computation, however each makes it."""
