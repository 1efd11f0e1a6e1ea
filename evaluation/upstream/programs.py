"""Small programs that use one part of a package: an optimizer, a scheduler, a layer, a function."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn


@dataclass(slots=True)
class Program:
    """What is run in each step; its result is differentiated where it can be."""

    model: nn.Module
    run: Callable[[], Tensor]
    optimizer: Any = None
    steps: int = 1


def program_of(name: str) -> Program:
    """The program `kind:Class`, with keyword arguments behind it as `key=value`."""
    kind, called, *settings = name.split(":")
    given = dict(setting.split("=") for setting in settings)
    return KINDS[kind](called, **{key: _value(text) for key, text in given.items()})


def _value(text: str) -> Any:
    if "," in text:
        return [_value(part) for part in text.split(",")]
    try:
        return float(text) if "." in text or "e" in text else int(text)
    except ValueError:
        return {"True": True, "False": False}.get(text, text)


def _drawn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed + sum(shape)))


def _optimizer(called: str, **settings: Any) -> Program:
    """A small network that learns for three steps."""
    model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.LayerNorm(8), nn.Linear(8, 4))
    kind = getattr(importlib.import_module("pytorch_optimizer"), called)
    optimizer = kind(model.parameters(), **{"lr": 1e-2, **settings})
    x, y = _drawn(5, 6), _drawn(5, 4, seed=3)
    return Program(model, lambda: (model(x) - y).square().mean(), optimizer, steps=3)


class _Denoised(nn.Module):
    """What a scheduler makes of noise with a fixed function in place of the network."""

    def __init__(self, scheduler: Any) -> None:
        super().__init__()
        self.scheduler = scheduler

    def forward(self, x: Tensor) -> Tensor:
        torch.manual_seed(1)
        for moment in self.scheduler.timesteps:
            scaled = self.scheduler.scale_model_input(x, moment)
            x = self.scheduler.step(torch.tanh(scaled * 0.5 + 0.1), moment, x)[0]
        return x


def _scheduler(called: str, **settings: Any) -> Program:
    scheduler = getattr(importlib.import_module("diffusers"), called)(**settings)
    scheduler.set_timesteps(6)
    model, x = _Denoised(scheduler), _drawn(1, 3, 4, 4)
    return Program(model, lambda: model(x))


def _unet(called: str, **settings: Any) -> Program:
    model = getattr(importlib.import_module("diffusers"), called)(
        sample_size=16,
        block_out_channels=(8, 16),
        norm_num_groups=4,
        layers_per_block=1,
        attention_head_dim=4,
        down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"),
        **settings,
    )
    x = _drawn(1, 3, 16, 16)
    return Program(model, lambda: model(x, 5)[0].square().mean())


_EDGES = torch.tensor([[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 2], [1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 5, 7]])
_GRAPHS = torch.tensor([0] * 4 + [1] * 6)


def _graph(called: str, **settings: Any) -> Program:
    """A layer, a pooling or an aggregation of torch_geometric."""
    layers: Any = importlib.import_module("torch_geometric.nn")
    kind, x = getattr(layers, called), _drawn(10, 8)
    if called == "DMoNPooling":
        model, dense = kind(8, 3), _drawn(2, 6, 8)
        near = (_drawn(2, 6, 6) > 0).float()
        near = ((near + near.transpose(1, 2)) > 0).float()
        return Program(model, lambda: sum(part.mean() for part in model(dense, near)[1:]))
    if called.endswith("Aggregation"):
        model = kind(**settings)
        x[:4] = x[0]  # nothing to deviate from
        return Program(model, lambda: model(x.requires_grad_(), _GRAPHS).square().mean())
    if called.endswith("Pooling"):
        model = kind(8)
        return Program(model, lambda: model(x, _EDGES, batch=_GRAPHS)[0].square().mean())
    if called == "PNAConv":
        degrees = torch.bincount(torch.bincount(_EDGES[1]))
        settings |= {"aggregators": ["mean", "std"], "scalers": ["identity"], "deg": degrees}
    model = kind(8, 8, **settings)
    return Program(model, lambda: model(x, _EDGES).square().mean())


def _loss(called: str, **settings: Any) -> Program:
    """A loss of pytorch_metric_learning over the embeddings of a layer."""
    losses: Any = importlib.import_module("pytorch_metric_learning.losses")
    criterion, layer = getattr(losses, called)(**settings), nn.Linear(6, 8)
    model = nn.ModuleList([layer, criterion])
    x, labels = _drawn(12, 6), torch.arange(12) % 4
    return Program(model, lambda: criterion(layer(x), labels))


_IMAGE = _drawn(2, 3, 24, 24).sigmoid()
_NEAR_IT = (_IMAGE + 0.1 * _drawn(2, 3, 24, 24, seed=3)).clamp(0.01, 1)
_LABELS = torch.arange(2 * 24 * 24).reshape(2, 24, 24) * 5 % 3
_LOGITS = _drawn(2, 3, 24, 24, seed=5)
_MASKS = nn.functional.one_hot(_LABELS, 3).permute(0, 3, 1, 2).float()
# What functions and layers are called with, by the beginning of their names; two images else.
_GIVEN: dict[str, tuple[Tensor, ...]] = {
    "monai.losses": (_LOGITS, _MASKS),
    "kornia.losses.focal_loss": (_LOGITS, _LABELS),
    "kornia.color": (_IMAGE,),
    "kornia.filters": (_IMAGE,),
    "kornia.geometry.conversions": (nn.functional.normalize(_drawn(5, 4), dim=-1),),
    "vector_quantize_pytorch.FSQ": (_drawn(2, 12, 3),),
    "vector_quantize_pytorch": (_drawn(2, 12, 16),),
}


class _Called(nn.Module):
    """A function or a layer, called with what is differentiated."""

    def __init__(self, called: Callable[..., Any], settings: dict[str, Any]) -> None:
        super().__init__()
        self.called = called(**settings) if isinstance(called, type) else called
        self.settings = {} if isinstance(called, type) else settings

    def forward(self, *given: Tensor) -> Tensor:
        return _total(self.called(*given, **self.settings))


def _total(result: Any) -> Tensor:
    """One number of all floating tensors of a result."""
    if isinstance(result, Tensor):
        return result.float().square().mean() if result.is_floating_point() else torch.zeros(())
    parts = result if isinstance(result, (list, tuple)) else ()
    return sum(map(_total, parts), torch.zeros(()))


def _function(called: str, **settings: Any) -> Program:
    """A function or a layer, `package.module.name`, of the data that is usual for it."""
    module, _, name = called.rpartition(".")
    known = [begin for begin in _GIVEN if called.startswith(begin)]
    given = _GIVEN[max(known, key=len)] if known else (_IMAGE, _NEAR_IT)
    model = _Called(getattr(importlib.import_module(module), name), settings)
    first = given[0].clone().requires_grad_()
    # In a module, as users have it: what goes into that and comes out of it is recorded.
    around = nn.ModuleDict({"user": model})
    return Program(around, lambda: model(first, *given[1:]))


def _transformer(called: str, **settings: Any) -> Program:
    """A small model of x_transformers around an Encoder or a Decoder."""
    package: Any = importlib.import_module("x_transformers")
    layers = getattr(package, called)(dim=16, depth=2, heads=4, **settings)
    model = package.TransformerWrapper(num_tokens=20, max_seq_len=16, attn_layers=layers)
    tokens = torch.arange(24).reshape(2, 12) * 7 % 20
    return Program(model, lambda: model(tokens).square().mean())


KINDS: dict[str, Callable[..., Program]] = {
    "optimizer": _optimizer,
    "scheduler": _scheduler,
    "unet": _unet,
    "graph": _graph,
    "loss": _loss,
    "function": _function,
    "transformer": _transformer,
}
