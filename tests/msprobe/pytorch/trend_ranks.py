"""Trains one model under a parallel layout, followed: DIRECTORY KIND."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)

from msprobe.pytorch.trends import Trends
from tests.msprobe.pytorch.trend_models import Net, batches, loss_of

STEPS = 4


def parallel(net: Net, kind: str, world: int) -> nn.Module:
    if kind == "ddp" or kind.startswith("tie"):
        return nn.parallel.DistributedDataParallel(net)
    if kind == "fsdp1":
        return FullyShardedDataParallel(net, use_orig_params=True, device_id=torch.device("cpu"))
    sizes, names = ((2, world // 2), ("dp", "tp")) if kind == "2d" else ((world,), (kind,))
    mesh = init_device_mesh("cpu", sizes, mesh_dim_names=names)
    if kind in ("tp", "2d"):
        plan = {"fc1": ColwiseParallel(), "fc2": RowwiseParallel()}
        for layer in net.layers:
            parallelize_module(layer, mesh["tp"], plan)
    if kind in ("fsdp2", "2d"):
        within = mesh["dp"] if kind == "2d" else mesh
        for layer in net.layers:
            fully_shard(layer, mesh=within)
        fully_shard(net, mesh=within)
    return net


def share_of(ids: torch.Tensor, kind: str, rank: int, world: int) -> torch.Tensor:
    if kind == "tp":
        return ids
    parts, own = (2, rank // (world // 2)) if kind == "2d" else (world, rank)
    return ids.chunk(parts)[own]


def main(directory: str, kind: str) -> None:
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    net = Net()
    model = parallel(net, kind, world) if kind != "single" else net
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, foreach=False)
    fails = os.environ.get("BREAK_MONITOR") == "1"
    trends = Trends(Path(directory) / kind, model, optimizer, tie_every=2)
    for step, ids in enumerate(batches(STEPS)):
        if fails and rank == 1 and step == 1:
            _break(trends)
        if kind.startswith("tie") and step == 2 and rank == 1:
            with torch.no_grad():
                net.head.weight[0, 0] += 1e-3
        loss = loss_of(model, share_of(ids, kind, rank, world))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        trends.step(loss=loss)
    trends.close()


def _break(trends: Trends) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("this device measures nothing")

    assert trends._collector is not None
    trends._collector._lanes.main.moments.__class__.put = fail


if __name__ == "__main__":
    main(*sys.argv[1:])
