"""What a recording could leave behind in a process, as a dictionary to be compared."""

from __future__ import annotations

import os
import random
import sys
import threading
import warnings
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import nn

from msprobe_core.torch.watch import long_graphs

_PLACES = """
torch torch._C torch._C._VariableFunctions torch.Tensor torch._tensor torch.nn torch.nn.functional
torch.nn.Module torch.nn.modules.module torch.nn.parameter.Parameter torch.nn.utils torch.autograd
torch.autograd.Function torch.autograd.graph torch.overrides torch.optim.Optimizer
torch.optim.optimizer torch.utils torch.utils.checkpoint torch.linalg torch.fft torch.special
torch.distributed torch.distributed.distributed_c10d torch.distributed._functional_collectives
torch._dynamo.eval_frame torch._dynamo.config torch.cuda torch.random torch.amp
torch._dynamo.eval_frame.OptimizedModule builtins copy pickle
""".split()
_TABLES = """
_forward_hooks _forward_pre_hooks _backward_hooks _backward_pre_hooks _state_dict_hooks
_forward_hooks_with_kwargs _forward_hooks_always_called
""".split()
_GLOBAL_TABLES = """
_global_forward_hooks _global_forward_pre_hooks _global_backward_hooks
_global_backward_pre_hooks
""".split()
_MOVING = frozenset({"_tls", "_warn_typed_storage_removal", "cached_backends"})
"""Attributes that change by themselves."""
_TO_END = 5.0  # seconds; a stretch of a graph takes a hundredth


def process_state() -> dict[str, object]:
    """Modes, hooks, patched attributes, threads, descriptors, random states, switches."""
    state = _switches()
    for place in _PLACES:
        for name, value in list(getattr(_found(place), "__dict__", {}).items()):
            # A package that is imported for the first time is nothing that was left.
            if name not in _MOVING and not name.startswith("__") and not _is_module(value):
                state[f"{place}.{name}"] = _known(value)
    for name in ("__call__", "__getstate__", "__setattr__", "__getattr__"):
        state[f"Module.{name}"] = id(vars(nn.Module).get(name))
    for name in ("__torch_function__", "__array__", "__getattribute__", "data", "numpy"):
        state[f"Tensor.{name}"] = id(vars(torch.Tensor).get(name))
    return state


def model_state(model: object) -> dict[str, object]:
    """Hooks and attributes of a model's modules and parameters."""
    if not isinstance(model, nn.Module):
        return {}
    state: dict[str, object] = {
        name: sum(len(getattr(module, name, None) or ()) for module in model.modules())
        for name in _TABLES
    }
    state["attributes"] = sum(len(vars(module)) for module in model.modules())
    for name in ("_backward_hooks", "_post_accumulate_grad_hooks"):
        state[f"parameters' {name}"] = sum(
            len(getattr(parameter, name, None) or ()) for parameter in model.parameters()
        )
    return state


def differences(before: dict[str, object], after: dict[str, object]) -> list[str]:
    """What is not as it was; what has been added by an import counts, too.

    Fewer descriptors or threads are no trace: what somebody had left before ended meanwhile.
    """
    absent = object()
    if "descriptors" in before:
        after = {**after, "descriptors": max(_number(after), _number(before))}
        after["threads"] = sorted((_threads(after) | _threads(before)).elements())
    return [
        f"{name}: {before.get(name)} -> {after.get(name)}"
        for name in sorted({*before, *after})
        if before.get(name, absent) != after.get(name, absent)
    ]


def _number(state: dict[str, object]) -> int:
    return int(str(state.get("descriptors", 0)))


def _threads(state: dict[str, object]) -> Counter[str]:
    names = state.get("threads", ())
    return Counter(names if isinstance(names, list) else ())


def _switches() -> dict[str, object]:
    hooks: Any = torch.nn.modules.module
    optimizers: Any = sys.modules["torch.optim.optimizer"]
    return {
        "function modes": torch._C._len_torch_function_stack(),
        "dispatch modes": torch._C._len_torch_dispatch_stack(),
        "gradients": torch.is_grad_enabled(),
        "inference": torch.is_inference_mode_enabled(),
        "autocast": torch._C._is_any_autocast_enabled(),
        "anomaly": torch.is_anomaly_enabled(),
        "tracing": torch._C._get_tracing_state() is not None,
        "default dtype": torch.get_default_dtype(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "threads of torch": torch.get_num_threads(),
        "random state of torch": hash(bytes(torch.get_rng_state().tolist())),
        "random state of Python": hash(random.getstate()),
        "filters of warnings": len(warnings.filters),
        "threads": sorted(thread.name for thread in _lasting_threads()),
        "descriptors": len(list(Path("/proc/self/fd").iterdir())),
        "trace and profile": (sys.gettrace(), sys.getprofile()),
        "folder": os.getcwd(),  # noqa: PTH109 - a text to be compared
        **{name: len(getattr(hooks, name)) for name in _GLOBAL_TABLES},
        "hooks of optimizers": len(optimizers._global_optimizer_pre_hooks)
        + len(optimizers._global_optimizer_post_hooks),
    }


def _lasting_threads() -> list[threading.Thread]:
    """The threads of the process, once those have had time to end that do so by themselves: the one
    that frees a long graph, and those of the user's loaders.
    """
    for thread in threading.enumerate():
        if thread.name in (long_graphs.THREAD, "QueueFeederThread"):
            thread.join(_TO_END)
    return threading.enumerate()


def _found(place: str) -> Any:
    """A module or class by its path, where it has been imported: torch imports much when asked."""
    module = sys.modules.get(place)
    owner, _, name = place.rpartition(".")
    if module is None and owner:
        return getattr(_found(owner), "__dict__", {}).get(name)
    return module


def _is_module(value: object) -> bool:
    return isinstance(value, ModuleType)


def _known(value: object) -> object:
    if isinstance(value, (bool, int, float, str, type(None))):
        return repr(value)
    if isinstance(value, (dict, list, set)):
        return f"{type(value).__name__} of {len(value)}"
    return id(value)
