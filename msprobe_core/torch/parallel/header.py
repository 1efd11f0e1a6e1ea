"""The `parallel` member of dump.json: the axes of the run and this process's place on them.

Sources in order of trust: what the user gives, the parallel state of Megatron, vLLM or SGLang, the
device meshes of the model's parameters, DDP's process group.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch

from msprobe_core.errors import LifecycleError
from msprobe_core.torch.parallel.engines import engine_axes
from msprobe_core.torch.parallel.group_purposes import group_names

_VERSION = 1
# The wrappers of torch whose process group shares out the batch.
_REPLICATING = ("DistributedDataParallel", "FullyShardedDataParallel")
# What Megatron sets on parameters, and how it is called here.
_ATTRIBUTES = {
    "tensor_model_parallel": "tp",
    "partition_dim": "dim",
    "partition_stride": "stride",
    "sequence_parallel": "sequence_parallel",
    "allreduce": "allreduce",
    "shared_embedding": "shared_embedding",
}
Axes = dict[str, dict[str, Any]]
Model = torch.nn.Module | Sequence[torch.nn.Module]


def parallel_header(model: Model | None, given: Mapping[str, object] | None) -> str | None:
    """The header as JSON text; None for a process that is alone with nothing to say.

    Raises LifecycleError when what the user gave is no JSON or has no axes.
    """
    modules = _modules(model)
    tied = _tied(modules)
    ties: dict[str, object] = {"tied": tied} if tied else {}
    distributed = sys.modules.get("torch.distributed")
    is_alone = (
        distributed is None or not distributed.is_available() or not distributed.is_initialized()
    )
    if given is not None:
        return _given(ties | ({} if is_alone else _own_rank(distributed)) | dict(given))
    if is_alone:
        alone = {"version": _VERSION, "source": "model", "axes": {}}
        return json.dumps(alone | ties) if ties else None
    source, axes = _recorded(modules)
    header: dict[str, object] = {
        "version": _VERSION,
        **_own_rank(distributed),
        "source": source,
        "axes": axes,
        "groups": group_names(axes),
    }
    chunks = _chunks(modules)
    layouts = _parameter_layouts(modules)
    header |= ties | ({"chunks": chunks} if chunks else {})
    return json.dumps(header | ({"layouts": layouts} if layouts else {}))


def _own_rank(distributed: Any) -> dict[str, object]:
    return {"world_size": distributed.get_world_size(), "rank": distributed.get_rank()}


def _recorded(modules: Sequence[torch.nn.Module]) -> tuple[str, Axes]:
    axes = _megatron_axes()
    if axes:
        return "megatron", axes
    engine, axes = engine_axes()
    if axes:
        return engine, axes
    axes = _mesh_axes(modules)
    return ("device_mesh", axes) if axes else ("groups", _data_parallel_axis(modules))


def _given(given: Mapping[str, object]) -> str:
    if not isinstance(given.get("axes"), dict):
        raise LifecycleError(
            'start(parallel=…): give {"axes": {"tp": {"rank": 0, "size": 2, "ranks": [0, 1]}, …}}'
        )
    try:
        return json.dumps({"version": _VERSION, "source": "user", **given})
    except (TypeError, ValueError) as error:
        raise LifecycleError(f"start(parallel=…): is no JSON ({error})") from None


def _modules(model: Model | None) -> list[torch.nn.Module]:
    if model is None:
        return []
    return [model] if isinstance(model, torch.nn.Module) else list(model)


def _megatron_axes() -> Axes:
    state: Any = sys.modules.get("megatron.core.parallel_state")
    if state is None or not state.model_parallel_is_initialized():
        return {}
    asked = {
        "tp": state.get_tensor_model_parallel_group,
        "pp": state.get_pipeline_model_parallel_group,
        "cp": state.get_context_parallel_group,
        "dp": state.get_data_parallel_group,
        "ep": state.get_expert_model_parallel_group,
    }
    axes = _without_single({axis: _axis_of(group()) for axis, group in asked.items()})
    own = _expert_axes(state)
    tp = axes.get("tp", {"size": 1})["size"]
    has_own_grid = "ep" in axes or own.get("etp", {"size": tp})["size"] != tp
    return axes | (own if has_own_grid else {})


def _expert_axes(state: Any) -> Axes:
    """The second grid of ranks, on which experts lie; nothing in versions that have none."""
    asked = {"etp": "get_expert_tensor_parallel_group", "edp": "get_expert_data_parallel_group"}
    groups = {axis: getattr(state, name, None) for axis, name in asked.items()}
    return {axis: _axis_of(group()) for axis, group in groups.items() if group is not None}


def _mesh_axes(modules: Iterable[torch.nn.Module]) -> Axes:
    axes: Axes = {}
    for module in modules:
        for parameter in module.parameters():
            mesh: Any = getattr(parameter, "device_mesh", None)
            names = None if mesh is None else mesh.mesh_dim_names
            for index, name in enumerate(names or ()):
                if name not in axes:
                    axes[name] = _axis_of(mesh.get_group(index))
    return _without_single(axes)


def _data_parallel_axis(modules: Iterable[torch.nn.Module]) -> Axes:
    for module in modules:
        if type(module).__name__ in _REPLICATING:
            group: Any = module.process_group
            return _without_single({"dp": _axis_of(group)})
    return {}


def _axis_of(group: Any) -> dict[str, Any]:
    from torch import distributed

    ranks = distributed.get_process_group_ranks(group)
    own = ranks.index(distributed.get_rank())
    return {"rank": own, "size": len(ranks), "ranks": list(ranks)}


def _without_single(axes: Axes) -> Axes:
    return {name: axis for name, axis in axes.items() if axis["size"] > 1}


def _parameter_layouts(modules: Sequence[torch.nn.Module]) -> dict[str, dict[str, Any]]:
    """By name, what Megatron's parameters say of themselves; nothing of others."""
    layouts = {}
    for index, module in enumerate(modules):
        chunk = f"{index}." if len(modules) > 1 else ""
        for name, parameter in module.named_parameters():
            if type(getattr(parameter, "tensor_model_parallel", None)) is bool:
                layouts[chunk + name] = {
                    key: value
                    for attribute, key in _ATTRIBUTES.items()
                    if type(value := getattr(parameter, attribute, None)) in (bool, int)
                }
    return layouts


def _tied(modules: Sequence[torch.nn.Module]) -> list[list[str]]:
    """The names of each parameter that several modules share, that of the optimizer first."""
    names: dict[int, list[str]] = {}
    for index, module in enumerate(modules):
        chunk = f"{index}." if len(modules) > 1 else ""
        for name, parameter in module.named_parameters(remove_duplicate=False):
            names.setdefault(id(parameter), []).append(chunk + name)
    return [listed for listed in names.values() if len(listed) > 1]


def _chunks(modules: Sequence[torch.nn.Module]) -> list[dict[str, object]]:
    """The real numbers of layers that count from 0 on each stage; Megatron's count from 1."""
    listed: list[dict[str, object]] = []
    for index, module in enumerate(modules):
        layers = {
            name: number - 1
            for name, inner in module.named_modules()
            if type(number := getattr(inner, "layer_number", None)) is int
            and name.rpartition(".")[2].isdigit()
        }
        if layers:
            listed.append({"index": index, "layers": layers})
    return listed
