"""Which modules' outputs are followed, and what of a module's output is a tensor of interest."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import torch
from torch import nn

from msprobe_core.errors import ConfigError, nearest

Activations = str | Sequence[str] | None
"""`blocks`, `all`, names of modules, or None for no activations at all."""

_LISTS = (nn.ModuleList, nn.Sequential, nn.ModuleDict)
_WRAPPERS = re.compile(
    r"(?:^|(?<=\.))(?:module|_fsdp_wrapped_module|_orig_mod|"
    r"_checkpoint_wrapped_module)\."
)
_FEWEST_BLOCKS = 2
_MOST_OUTPUTS = 8


def clean_name(name: str) -> str:
    """A name without what DDP, FSDP, checkpointing and compilers wrap modules in.

    >>> clean_name("module.layers.0._checkpoint_wrapped_module.fc.weight")
    'layers.0.fc.weight'
    """
    return _WRAPPERS.sub("", name + ".")[:-1] if name else name


def named_modules(model: nn.Module) -> dict[str, nn.Module]:
    """The modules of a model by clean names, in its own order, without wrappers and the root."""
    found: dict[str, nn.Module] = {}
    for name, module in model.named_modules():
        if clean_name(name):
            found[clean_name(name)] = module  # the innermost of a module and its wrappers
    return found


def selected_modules(modules: Mapping[str, nn.Module], activations: Activations) -> list[str]:
    """The names of the modules that `activations` selects. Raises ConfigError."""
    if activations is None:
        return []
    if activations == "all":
        return [name for name, module in modules.items() if not isinstance(module, _LISTS)]
    if activations == "blocks":
        return _blocks(modules)
    wanted = [activations] if isinstance(activations, str) else list(activations)
    for name in wanted:
        if name not in modules:
            hint = nearest(name, ["blocks", "all", *modules], "give names of model.named_modules()")
            raise ConfigError(f"activations: the model has no module {name!r}", hint)
    return wanted


def tensors_of(output: object) -> Iterator[tuple[str, torch.Tensor]]:
    """The floating tensors directly in an output, with what tells them apart: nothing, or [i]."""
    if isinstance(output, torch.Tensor):
        if output.is_floating_point():
            yield "", output
        return
    inner = output.values() if isinstance(output, Mapping) else output
    if not isinstance(output, (Mapping, list, tuple)):
        return
    found = [x for x in inner if isinstance(x, torch.Tensor) and x.is_floating_point()]  # type: ignore[attr-defined]  # iterable, as asked above
    for index, tensor in enumerate(found[:_MOST_OUTPUTS]):
        yield f"[{index}]" if index else "", tensor


def loss_of(output: object) -> torch.Tensor | None:
    """The loss that a model of transformers hands out with its output."""
    loss = output.get("loss") if isinstance(output, Mapping) else getattr(output, "loss", None)
    return loss if isinstance(loss, torch.Tensor) and loss.numel() == 1 else None


def _blocks(modules: Mapping[str, nn.Module]) -> list[str]:
    """Repeated layers and what they are made of: the members of lists of composite modules, and
    those of their own children that have children (attention, MLP); else the root's children.
    """
    blocks = [
        f"{name}.{child}"
        for name, module in modules.items()
        if isinstance(module, _LISTS) and _composites(module) >= _FEWEST_BLOCKS
        for child, inner in module.named_children()
        if any(True for _ in inner.children())
    ]
    chosen = {
        name
        for block in blocks
        for name in (block, *_composite_children(modules, block))
        if name in modules
    }
    if not chosen:
        chosen = {name for name, module in modules.items() if "." not in name}
    return [name for name in modules if name in chosen]


def _composites(module: nn.Module) -> int:
    return sum(any(True for _ in child.children()) for child in module.children())


def _composite_children(modules: Mapping[str, nn.Module], block: str) -> list[str]:
    inner = modules.get(block)
    if inner is None or isinstance(inner, _LISTS):
        return []
    return [
        f"{block}.{name}"
        for name, child in inner.named_children()
        if any(True for _ in child.children()) and not isinstance(child, _LISTS)
    ]
