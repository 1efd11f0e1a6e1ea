"""Which modules a model has, by which paths, and which of them are compiled."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

import torch

from msprobe_core.report import say

Model = torch.nn.Module | Sequence[torch.nn.Module]


def say_what_is_not_seen(model: Model) -> None:
    """Tell the user of a model that is compiled."""
    roots = [model] if isinstance(model, torch.nn.Module) else model
    if any(_is_compiled(root) for root in roots):
        say(
            "the model given to start is compiled: what runs inside is not seen; to see it, call "
            "torch.compiler.set_stance('force_eager') before the step"
        )


def _is_compiled(module: torch.nn.Module) -> bool:
    """Whether torch.compile runs the module, as a wrapper or in place."""
    if "torch._dynamo" not in sys.modules:
        return False
    in_place = getattr(module, "_compiled_call_impl", None) is not None
    return in_place or isinstance(module, torch._dynamo.OptimizedModule)


def named_modules(model: Model) -> list[tuple[str, torch.nn.Module]]:
    """The modules inside a model with their attribute paths; the model itself is left out.

    In a list of models the path begins with the model's index.
    """
    if isinstance(model, torch.nn.Module):
        return [(path, module) for path, module in model.named_modules() if path]
    modules: list[tuple[str, torch.nn.Module]] = []
    for index, each in enumerate(model):
        modules += [(f"{index}.{path}", module) for path, module in each.named_modules() if path]
    return modules


def with_parameters(model: Model) -> Iterator[tuple[torch.nn.Module, str]]:
    """The modules whose parameters are watched even if nobody calls them, and their paths.

    The started models are among them; what a compiled wrapper holds is not.
    """
    roots = (
        [(model, "")]
        if isinstance(model, torch.nn.Module)
        else [(root, str(index)) for index, root in enumerate(model)]
    )
    inside = [(module, path) for path, module in named_modules(model)]
    for module, path in [*roots, *inside]:
        if "_orig_mod" not in path.split("."):
            yield module, path
