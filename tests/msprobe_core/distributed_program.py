"""Run by the tests in each of two ranks: python … OUT; one dump for each kind of model."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from torch import nn

from msprobe.pytorch import PrecisionDebugger, seed_all


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(torch.relu(self.first(x)))


def wrapped(kind: str) -> nn.Module:
    model = Net()
    if kind == "ddp":
        return nn.parallel.DistributedDataParallel(model)
    if kind == "rowwise":
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.tensor.parallel import (
            ColwiseParallel,
            ParallelStyle,
            RowwiseParallel,
            parallelize_module,
        )

        plan: dict[str, ParallelStyle] = {"first": ColwiseParallel(), "second": RowwiseParallel()}
        return parallelize_module(model, init_device_mesh("cpu", (2,)), plan)
    if kind.startswith("fsdp"):
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard

        mesh = init_device_mesh("cpu", (2,))
        for layer in (model.first, model.second):
            fully_shard(layer, mesh=mesh)
        return fully_shard(model, mesh=mesh)  # type: ignore[no-any-return]
    return model


def train(kind: str, debugger: PrecisionDebugger | None) -> list[float]:
    seed_all(3)
    model = wrapped(kind)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for step in range(2):
        if debugger is not None:
            debugger.start(model)
        optimizer.zero_grad()
        loss = model(torch.full((2, 8), step + dist.get_rank() + 1.0)).square().mean()
        loss.backward()
        optimizer.step()
        if kind == "async":
            value = torch.ones(3)
            work = dist.all_reduce(value, async_op=True)
            assert work is not None
            work.wait()
            # The result is read before it is waited for.
            torch.mul(functional.all_reduce(value, "sum", dist.group.WORLD), 2)
            functional.wait_tensor(functional.all_reduce(value, "sum", dist.group.WORLD))
        if debugger is not None:
            debugger.stop()
            debugger.step()
        losses.append(loss.item())
    return losses


KINDS = ("ddp", "fsdp", "fsdp_tensor", "rowwise", "async")


def main() -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    for kind in KINDS:
        plain = train(kind, None)
        config = Path(sys.argv[1]) / f"{kind}{dist.get_rank()}.json"
        risk = "ALL" if kind == "async" else "FOCUS"
        task = "tensor" if kind == "fsdp_tensor" else "statistics"
        settings = {"task": task, "level": "mix", "risk_level": risk}
        config.write_text(json.dumps(settings), encoding="utf-8")
        debugger = PrecisionDebugger(config, dump_path=f"{sys.argv[1]}/{kind}")
        assert train(kind, debugger) == plain
        debugger.close()


main()
