"""The layouts that torch makes itself: DDP, FSDP2, tensor parallelism by DTensor."""

from __future__ import annotations

from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Replicate
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    ParallelStyle,
    RowwiseParallel,
    parallelize_module,
)
from torch.nn.parallel import DistributedDataParallel

from evaluation.parallel.layout import Mesh
from evaluation.parallel.model import Transformer


def wrapped(model: Transformer, mesh: Mesh) -> nn.Module:
    """The model under torch's own parallelism."""
    kind = mesh.layout.native
    if kind == "ddp":
        return DistributedDataParallel(model, process_group=mesh.group("dp"))
    if kind == "fsdp2":
        device_mesh = init_device_mesh("cpu", (mesh.size("dp"),), mesh_dim_names=("dp",))
        for layer in model.layers:
            fully_shard(layer, mesh=device_mesh)
        return fully_shard(model, mesh=device_mesh)
    return _tensor_parallel(model, mesh)


def _tensor_parallel(model: Transformer, mesh: Mesh) -> nn.Module:
    device_mesh = init_device_mesh("cpu", (mesh.size("tp"),), mesh_dim_names=("tp",))
    for layer in model.layers:
        parallelize_module(layer, device_mesh, _plan())
    return parallelize_module(model, device_mesh, {"head": _gathered()})


def _gathered() -> ColwiseParallel:
    return ColwiseParallel(output_layouts=Replicate())


def _plan() -> dict[str, ParallelStyle]:
    # Heads and gates are told apart between the layers, so outputs are whole there.
    return {
        "attention.qkv": _gathered(),
        "attention.out": RowwiseParallel(input_layouts=Replicate()),
        "mlp.up": _gathered(),
        "mlp.down": RowwiseParallel(input_layouts=Replicate()),
    }
