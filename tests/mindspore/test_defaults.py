"""The defaults that differ are those of the two frameworks' own signatures."""

from __future__ import annotations

import inspect

import pytest

from tests.mindspore.conftest import Thing

torch = pytest.importorskip("torch", reason="PyTorch is not installed beside MindSpore")


def default(function: Thing, name: str) -> object:
    return inspect.signature(function).parameters[name].default


def test_signatures_have_the_defaults_that_are_named(ms: Thing) -> None:
    from mindspore import nn, ops

    theirs = torch.nn
    assert default(nn.LayerNorm, "epsilon") == 1e-7 and default(theirs.LayerNorm, "eps") == 1e-5
    assert default(nn.GELU, "approximate") is True
    assert default(theirs.GELU, "approximate") == "none"
    for kind in ("BatchNorm1d", "BatchNorm2d", "BatchNorm3d"):
        assert default(getattr(nn, kind), "momentum") == 0.9
        assert default(getattr(theirs, kind), "momentum") == 0.1
    for kind in ("Conv1d", "Conv2d", "Conv3d"):
        assert default(getattr(nn, kind), "pad_mode") == "same"
        assert default(getattr(nn, kind), "has_bias") is False
        assert default(getattr(theirs, kind), "padding") == 0
        assert default(getattr(theirs, kind), "bias") is True
    assert default(nn.LeakyReLU, "alpha") == default(ops.leaky_relu, "alpha") == 0.2
    assert default(theirs.LeakyReLU, "negative_slope") == 0.01
    assert default(nn.SmoothL1Loss, "reduction") == "none"
    assert default(ops.smooth_l1_loss, "reduction") == "none"
    assert default(theirs.SmoothL1Loss, "reduction") == "mean"
    assert default(ops.std, "ddof") == default(ops.var, "ddof") == 0
    assert torch.tensor([1.0, 3.0]).var() == 2.0  # over one less than the elements
    for kind in ("AvgPool1d", "AvgPool2d", "MaxPool1d", "MaxPool2d"):
        assert default(getattr(nn, kind), "stride") == 1
        assert default(getattr(theirs, kind), "stride") is None
