"""Parameter names without what a wrapper or a saving script put around them."""

from __future__ import annotations

import re
from collections.abc import Iterable

# Segments that wrappers put into names: FSDP, torch.compile, activation checkpointing.
_WRAPPERS = {"_fsdp_wrapped_module", "_orig_mod", "_checkpoint_wrapped_module"}
_ROOTS = ("module", "model", "state_dict", "app")


def unwrapped(name: str) -> str:
    """The name without segments of wrappers."""
    return ".".join(part for part in name.split(".") if part not in _WRAPPERS)


def without_shared_root(names: Iterable[str]) -> dict[str, str]:
    """Each name as given → unwrapped and without the roots that all names share.

    `model.` belongs to the saving script only where every name has it.
    """
    full = {name: unwrapped(name).split(".") for name in names}
    while full:
        roots = {parts[0] for parts in full.values()}
        root = next(iter(roots))
        if len(roots) > 1 or root not in _ROOTS or any(len(p) == 1 for p in full.values()):
            break
        full = {name: parts[1:] for name, parts in full.items()}
    return {name: ".".join(parts) for name, parts in full.items()}


def template(name: str) -> str:
    """The name with each index as `#`: what the copies of a layer have in common."""
    return ".".join("#" if part.isdecimal() else part for part in name.split("."))


def numbers(name: str) -> tuple[int, ...]:
    """The indices of a name, in order."""
    return tuple(int(part) for part in name.split(".") if part.isdecimal())


def natural(name: str) -> tuple[tuple[int, int | str], ...]:
    """A sorting key under which layer 10 follows layer 9."""
    return tuple(
        (0, int(part)) if part.isdecimal() else (1, part) for part in re.split(r"(\d+)", name)
    )
