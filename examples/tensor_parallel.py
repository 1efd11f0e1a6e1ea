"""Trains a small model on one process or cut over two; run it as `tensor_parallel.py DUMP_PATH`.

With `--ranks 2` its layers are cut over tensor-parallel processes; with `--fault` one of them does
not add up the parts.
"""

from __future__ import annotations

import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx

from msprobe.pytorch import PrecisionDebugger

HIDDEN, FFN, LAYERS, STEPS = 8, 20, 3, 2


class Sum(torch.autograd.Function):
    """Adds up the ranks' parts; the gradient of each part is that of the sum."""

    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor) -> Tensor:
        total = x.clone()
        dist.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx: FunctionCtx, *grads: Tensor) -> Tensor:
        return grads[0]


class Copy(torch.autograd.Function):
    """Hands on the same; the gradient is the sum of the ranks' parts."""

    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor) -> Tensor:
        return x.view_as(x)

    @staticmethod
    def backward(ctx: FunctionCtx, *grads: Tensor) -> Tensor:
        total = grads[0].clone()
        dist.all_reduce(total)
        return total


class ColumnParallelLinear(nn.Module):
    """Has some of the outputs of a linear layer."""

    def __init__(self, whole: nn.Linear, rank: int, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(whole.weight.detach().chunk(size, 0)[rank].clone())

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.linear(Copy.apply(x), self.weight)


class RowParallelLinear(nn.Module):
    """Has some of the inputs of a linear layer, whose output is a sum over the ranks."""

    def __init__(self, whole: nn.Linear, rank: int, size: int, adds_up: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(whole.weight.detach().chunk(size, 1)[rank].clone())
        self.adds_up = adds_up

    def forward(self, x: Tensor) -> Tensor:
        part = nn.functional.linear(x, self.weight)
        return Sum.apply(part) if self.adds_up else part


class Block(nn.Module):
    """A norm and two linear layers, added to what came in."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(HIDDEN)
        self.up: nn.Module = nn.Linear(HIDDEN, FFN, bias=False)
        self.down: nn.Module = nn.Linear(FFN, HIDDEN, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.down(torch.nn.functional.silu(self.up(self.norm(x))))


class Model(nn.Module):
    """A few blocks."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Block() for _ in range(LAYERS))

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


def cut(model: Model, rank: int, size: int, fault: bool) -> None:
    """Cut the linear layers of a model over the ranks."""
    for number, block in enumerate(model.layers):
        assert isinstance(block, Block)
        assert isinstance(block.up, nn.Linear)
        assert isinstance(block.down, nn.Linear)
        block.up = ColumnParallelLinear(block.up, rank, size)
        block.down = RowParallelLinear(block.down, rank, size, not (fault and number == 1))


def train(rank: int, size: int, dump_path: str, fault: bool) -> None:
    """Record all steps of one process."""
    torch.set_num_threads(1)  # the processes share the machine
    torch.manual_seed(0)
    model = Model()
    data = [torch.randn(4, 6, HIDDEN) for _ in range(STEPS)]
    if size > 1:
        cut(model, rank, size, fault)
    axes = {"tp": {"rank": rank, "size": size, "ranks": list(range(size))}}
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    debugger = PrecisionDebugger(dump_path=dump_path, level="mix", task="statistics")
    for batch in data:
        debugger.start(model, parallel={"axes": axes} if size > 1 else None)
        model(batch).square().mean().backward()
        optimizer.step()
        debugger.stop()
        debugger.step()
        optimizer.zero_grad()
    debugger.close()


def work(rank: int, size: int, dump_path: str, fault: bool, store: str) -> None:
    """One of several processes."""
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=size)
    train(rank, size, dump_path, fault)
    dist.destroy_process_group()


def main() -> None:
    """Read the command line and train."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dump_path")
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--fault", action="store_true")
    options = parser.parse_args()
    if options.ranks == 1:
        train(0, 1, options.dump_path, False)
        return
    with tempfile.TemporaryDirectory() as folder:
        store = os.path.join(folder, "store")  # noqa: PTH118 - part of a URL
        arguments = (options.ranks, options.dump_path, options.fault, store)
        torch.multiprocessing.spawn(work, args=arguments, nprocs=options.ranks)


if __name__ == "__main__":
    main()
