"""The dumper: records what a PyTorch model computes, step by step and rank by rank.

The public names load torch on first use only, so that the dump format stays free of it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from msprobe_core.debugger import PrecisionDebugger, module_dump, module_dump_end, save
    from msprobe_core.torch.graph.acl_graph_dumper import AclGraphDumper, acl_save
    from msprobe_core.torch.randomness import random_save
    from msprobe_core.torch.seeding import seed_all

_HOMES = {
    "AclGraphDumper": "msprobe_core.torch.graph.acl_graph_dumper",
    "PrecisionDebugger": "msprobe_core.debugger",
    "acl_save": "msprobe_core.torch.graph.acl_graph_dumper",
    "module_dump": "msprobe_core.debugger",
    "module_dump_end": "msprobe_core.debugger",
    "random_save": "msprobe_core.torch.randomness",
    "save": "msprobe_core.debugger",
    "seed_all": "msprobe_core.torch.seeding",
}

__all__ = [
    "AclGraphDumper",
    "PrecisionDebugger",
    "acl_save",
    "module_dump",
    "module_dump_end",
    "random_save",
    "save",
    "seed_all",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(home), name)
