"""Settings that MindSpore and PyTorch leave at other values unless a model says otherwise.

They are the usual reason why a layer that was ported by name puts out something else. Sources: the
signatures of MindSpore 2.10 and PyTorch 2.13.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Default:
    """One setting: what it is, and its value in either framework."""

    what: str
    mindspore: str
    pytorch: str


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
DEFAULTS = {
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
"""By the class of a layer or the name of a call, in PyTorch's words."""
