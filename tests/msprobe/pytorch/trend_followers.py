"""A training that each subset of its ranks follows in turn: `trend_followers.py DIR KIND`.

Beside the trends of a case each rank writes `true<rank>.json`: norms in float64 of what it holds
and of whole tensors, of gradients and of weights. The third step of most cases is ended by `step`
on the first of them alone.
"""

from __future__ import annotations

import datetime
import itertools
import json
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from msprobe.pytorch.trends import Trends

STEPS = 3
LIMIT = datetime.timedelta(seconds=30)
WIDTH = 6  # not a multiple of four: ranks hold pieces of different sizes, and none of the bias of 2


def make(kind: str, world: int) -> nn.Module:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, 2))
    if kind == "ddp":
        return nn.parallel.DistributedDataParallel(net)
    shape = (2, world // 2) if kind == "hsdp" else (world,)
    mesh = init_device_mesh("cpu", shape, mesh_dim_names=("copies", "pieces")[-len(shape) :])
    for layer in (net[0], net[2], net):
        fully_shard(layer, mesh=mesh)
    return net


def norms(model: nn.Module, gradients: bool = False) -> dict[str, list[float]]:
    """Of each weight, or of its gradient: this rank's piece, the whole."""
    found = {}
    for name, weight in model.named_parameters():
        parameter = weight.grad if gradients else weight
        assert parameter is not None
        whole = parameter.full_tensor() if hasattr(parameter, "full_tensor") else parameter
        piece = parameter.to_local() if hasattr(parameter, "to_local") else parameter
        both = [each.detach().double().norm().item() for each in (piece, whole)]
        found[name.removeprefix("module.")] = both
    return found


def train(folder: Path, kind: str, followers: tuple[int, ...], how: str) -> None:
    rank, world = dist.get_rank(), dist.get_world_size()
    model = make(kind, world)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    trends = None
    if rank in followers:
        trends = Trends(folder, model, optimizer, activations="all", tie_every=1, alerts=False)
    torch.manual_seed(rank)
    true: dict[str, list[dict[str, list[float]]]] = {"grad": [], "param": []}
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = model(torch.randn(4, WIDTH)).square().sum()
        loss.backward()
        true["grad"].append(norms(model, gradients=True))
        optimizer.step()
        true["param"].append(norms(model))
        if trends is not None and (step < 2 or rank == followers[0] or how == "all"):
            trends.step(loss=loss)
        if trends is not None and step == 0 and rank == leaver(followers, how):
            trends.close()
    if trends is not None:
        trends.close()
    (folder.parent / f"{folder.name}-true{rank}.json").write_text(json.dumps(true))


def leaver(followers: tuple[int, ...], how: str) -> int | None:
    """Who closes after the first step."""
    return {"last leaves": followers[-1], "first leaves": followers[0]}.get(how)


def cases(world: int) -> list[tuple[tuple[int, ...], str]]:
    subsets = [
        chosen
        for count in range(world + 1)
        for chosen in itertools.combinations(range(world), count)
    ]
    everyone = tuple(range(world))
    others = ("all", "last leaves", "first leaves")
    return [*((each, "some") for each in subsets), *((everyone, how) for how in others)]


def main(directory: str, kind: str) -> None:
    dist.init_process_group("gloo", timeout=LIMIT)
    for followers, how in cases(dist.get_world_size()):
        name = "".join(map(str, followers)) or "none"
        train(Path(directory) / f"{name}-{how}", kind, followers, how)


if __name__ == "__main__":
    main(*sys.argv[1:])
