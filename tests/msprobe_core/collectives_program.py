"""Run by the tests in each of two ranks: python … OUT; collectives that write what was recorded.

Each kind makes a tensor, has it recorded, lets a collective write it under some name, and has it
recorded again; what is true lies in a file beside the dump.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from torch import nn
from torch.distributed import (
    all_gather,
    all_gather_into_tensor,
    all_reduce,
    all_to_all_single,
    broadcast,
    irecv,
    isend,
    recv,
    reduce_scatter_tensor,
    scatter,
    send,
)

from msprobe.pytorch import PrecisionDebugger

SIZE = 2000
_OTHER = {"reduce": all_reduce}


class Same(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x


def rank() -> int:
    return dist.get_rank()


def waited(x: torch.Tensor) -> None:
    work = dist.all_reduce(x, async_op=True)
    assert work is not None
    torch.sin(x)
    work.wait()


def coalesced(x: torch.Tensor) -> None:
    parts = list(x.view(-1).chunk(4))
    with dist._coalescing_manager():  # type: ignore[attr-defined]
        for part in parts:
            dist.all_reduce(part)


def sent(x: torch.Tensor) -> None:
    if rank():
        send(x * 5, 0)
    else:
        recv(x, 1)


def exchanged(x: torch.Tensor) -> None:
    other = 1 - rank()
    for each in (isend(x * 3, other), irecv(x, other)):
        assert each is not None
        each.wait()


def batched(x: torch.Tensor) -> None:
    other = 1 - rank()
    kinds = [dist.P2POp(dist.isend, x * 3, other), dist.P2POp(dist.irecv, x.view(-1), other)]
    for work in dist.batch_isend_irecv(kinds):
        work.wait()


def by_group(x: torch.Tensor) -> None:
    assert dist.group.WORLD is not None
    dist.group.WORLD.allreduce([x.detach()], dist.AllreduceOptions()).wait()


def gathered(x: torch.Tensor) -> None:
    all_gather(list(x.view(2, -1).unbind()), torch.full((SIZE // 2,), rank() + 5.0))


def by_operator(x: torch.Tensor) -> None:
    name = dist.group.WORLD.group_name  # type: ignore[union-attr]
    torch.ops._c10d_functional.wait_tensor(torch.ops._c10d_functional.all_reduce_(x, "sum", name))


KINDS: dict[str, Callable[[torch.Tensor], Any]] = {
    "imported": all_reduce,
    "view": lambda x: dist.all_reduce(x.view(-1)),
    "detached": lambda x: all_reduce(x.detach()),
    "part": lambda x: all_reduce(x[:, :7]),
    "data": lambda x: dist.all_reduce(x.data),
    "table": _OTHER["reduce"],
    "broadcast": lambda x: broadcast(x.view(-1)[10:], 0),
    "gathered": gathered,
    "gathered at once": lambda x: all_gather_into_tensor(x.view(-1), torch.full((SIZE // 2,), 4.0)),
    "scattered": lambda x: scatter(x, [x * 4, x * 5] if rank() == 0 else None, 0),
    "reduced and scattered": lambda x: reduce_scatter_tensor(x, torch.ones(2, SIZE) * rank()),
    "all to all": lambda x: all_to_all_single(x.view(-1), torch.arange(SIZE * 1.0)),
    "sent": sent,
    "exchanged": exchanged,
    "batched": batched,
    "waited for": waited,
    "coalesced": coalesced,
    "method of a group": by_group,
    "functional in place": lambda x: functional.all_reduce_inplace(x, "sum", dist.group.WORLD),
    "operator": by_operator,
}


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.before, self.after = nn.Linear(1, SIZE), Same(), Same()
        self.truth: dict[str, list[float]] = {}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for name, write in KINDS.items():
            made = self.first(x)
            torch.tanh(self.before(made))
            write(made)
            torch.cos(self.after(made))
            self.truth[name] = [made.max().item(), made.double().norm().item()]
        return x


def unseen(kind: str, level: str, out: Path) -> None:
    torch.manual_seed(0)
    net = Net()
    debugger = PrecisionDebugger(dump_path=str(out / f"{kind}.{level}"), level=level)
    with torch.no_grad():
        debugger.start(net)
        net(torch.full((1, 1), rank() + 1.0))
        debugger.stop()
        debugger.step()
    debugger.close()
    (out / f"{kind}.{level}.{rank()}.json").write_text(json.dumps(net.truth))


def gradients(kind: str, level: str, out: Path) -> None:
    """Gradients that DDP averages below Python, or that are parts of one buffer."""
    torch.manual_seed(0)
    net: nn.Module = nn.Sequential(nn.Linear(64, 64), nn.Linear(64, 64))
    model = net
    if kind != "flat":
        views, static = kind == "ddp views", kind == "ddp static"
        model = nn.parallel.DistributedDataParallel(
            net, gradient_as_bucket_view=views, static_graph=static
        )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    debugger = PrecisionDebugger(dump_path=str(out / f"{kind}.{level}"), level=level)
    for _ in range(2):
        debugger.start(model)
        optimizer.zero_grad(set_to_none=True)
        model(torch.full((4, 64), rank() + 1.0)).square().mean().backward()
        if kind == "flat":
            flatten(list(net.parameters()))
        truth = {}
        for name, parameter in model.named_parameters():
            assert parameter.grad is not None
            truth[name] = [parameter.grad.max().item(), parameter.grad.double().norm().item()]
        optimizer.step()
        debugger.stop()
        debugger.step()
    debugger.close()
    (out / f"{kind}.{level}.{rank()}.json").write_text(json.dumps(truth))


def flatten(parameters: list[nn.Parameter]) -> None:
    flat = torch.cat([p.grad.reshape(-1) for p in parameters if p.grad is not None])
    start = 0
    for parameter in parameters:
        parameter.grad = flat[start : start + parameter.numel()].view_as(parameter)
        start += parameter.numel()
        torch.sum(parameter.grad)
    dist.all_reduce(flat)
    for parameter in parameters:
        assert parameter.grad is not None
        torch.sum(parameter.grad)


if __name__ == "__main__":
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    folder = Path(sys.argv[1])
    for each in ("L0", "L1", "mix"):
        unseen("unseen", each, folder)
        for grown in ("ddp", "ddp views", "ddp static", "flat"):
            gradients(grown, each, folder)
