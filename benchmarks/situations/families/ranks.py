"""Two processes that train together, with one of them, the other, or both followed."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.pipelining import PipelineStage, Schedule1F1B
from torch.nn.parallel import DistributedDataParallel

from benchmarks.situations.situation import Made, Net, loss_of, normal, situation, tokens

WHO: dict[str, tuple[int, ...]] = {"both": (), "the first alone": (0,), "the second alone": (1,)}
BEFORE_SUMS = ("graph mode",)
"""Its gradients are those that this rank has accumulated, before any sum over ranks."""
Make = Callable[[], Made]


def by_all(name: str, **options: Any) -> Callable[[Make], Make]:
    """Declare a situation once for each set of ranks that follow."""

    def declare(make: Make) -> Make:
        for who, ranks in WHO.items():
            situation(f"{name}, {who} followed", ranks=2, followed=ranks, later=True, **options)(
                make
            )
        return make

    return declare


@cache
def mesh() -> DeviceMesh:
    """Made once: each mesh makes groups, which stay."""
    return init_device_mesh("cpu", (2,))


def trained(model: nn.Module) -> Made:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(n: int) -> Any:
        batch = tokens(seed=10 * n + dist.get_rank())
        optimizer.zero_grad()
        loss = loss_of(model(batch), batch)
        loss.backward()
        optimizer.step()
        return loss

    return model, step, optimizer


@by_all("replicas", uncompared=BEFORE_SUMS)
def replicas() -> Made:
    return trained(DistributedDataParallel(Net()))


@by_all("shards", own_gradients="pieces, where one rank alone follows")
def shards() -> Made:
    model = Net()
    for block in model.blocks:
        fully_shard(block, mesh=mesh())
    return trained(fully_shard(model, mesh=mesh()))


@situation("replicas whose first rank evaluates alone", ranks=2, later=True, uncompared=BEFORE_SUMS)
def evaluating() -> Made:
    inner = Net()
    model, step, optimizer = trained(DistributedDataParallel(inner))

    def both(n: int) -> Any:
        loss = step(n)
        if dist.get_rank() == 0:
            with torch.no_grad():
                inner(tokens(seed=n))
        return loss

    return model, both, optimizer


def operations(x: torch.Tensor, y: torch.Tensor) -> list[dist.P2POp]:
    other = 1 - dist.get_rank()
    return [dist.P2POp(dist.isend, x, other), dist.P2POp(dist.irecv, y, other)]


@situation("operations that are kept from step to step", ranks=2, later=True)
def kept() -> Made:
    model = nn.Sequential(nn.Linear(4, 4))
    sent, received = torch.zeros(3, 4), torch.zeros(3, 4)
    list_of_all = operations(sent, received)

    def step(n: int) -> Any:
        with torch.no_grad():
            sent.copy_(model(normal(3, 4, seed=n + dist.get_rank())))
        for work in dist.batch_isend_irecv(list_of_all):
            work.wait()
        return received.clone()

    return model, step


@situation("sums that are waited for and divided", ranks=2, later=True, uncompared=BEFORE_SUMS)
def divided() -> Made:
    model = nn.Sequential(nn.Linear(4, 4))

    def step(n: int) -> Any:
        model.zero_grad()
        model(normal(3, 4, seed=n + dist.get_rank())).sum().backward()
        gradients = [p.grad for p in model.parameters() if p.grad is not None]
        works = [dist.all_reduce(each, async_op=True) for each in gradients]
        for work, gradient in zip(works, gradients, strict=True):
            assert work is not None
            work.wait()
            gradient.div_(2)
        return gradients

    return model, step


@situation("sums in a block", ranks=2, later=True)
def in_a_block() -> Made:
    model = nn.Sequential(nn.Linear(4, 4))

    def step(n: int) -> Any:
        with torch.no_grad():
            found = [model(normal(3, 4, seed=n + dist.get_rank() + k)) for k in range(3)]
        with dist._coalescing_manager():  # type: ignore[attr-defined]
            for each in found:
                dist.all_reduce(each)
        return found

    return model, step


@situation("a pipeline of two stages", ranks=2, later=True)
def pipeline() -> Made:
    rank = dist.get_rank()
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
    stage = PipelineStage(model, rank, 2, torch.device("cpu"))

    def error(out: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
        return (out - wanted).square().mean()

    schedule = Schedule1F1B(stage, 2, loss_fn=error)

    def step(n: int) -> Any:
        model.zero_grad()
        if rank == 0:
            schedule.step(normal(4, 4, seed=n))
            return [p.grad for p in model.parameters()]
        losses: list[torch.Tensor] = []
        schedule.step(target=normal(4, 4, seed=9), losses=losses)
        return losses

    return model, step


@situation("replicas compiled from outside", ranks=2, later=True, uncompared=BEFORE_SUMS)
def compiled_replicas() -> Made:
    model = DistributedDataParallel(Net())
    compiled = torch.compile(model, backend="aot_eager")

    def step(n: int) -> Any:
        batch = tokens(seed=n + dist.get_rank())
        model.zero_grad()
        loss = loss_of(compiled(batch), batch)
        loss.backward()
        return loss

    return model, step
