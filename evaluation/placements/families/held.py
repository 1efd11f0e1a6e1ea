"""Cases that were written after the rules on shares, owners and sums of the backward pass."""

from __future__ import annotations

from typing import Any

import torch.distributed as dist
from torch import Tensor, autograd, nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

from evaluation.parallel.collective import Reduce, all_reduced, gathered
from evaluation.placements.case import case
from evaluation.placements.families import data, tensor
from evaluation.placements.net import net
from evaluation.placements.run import VOCABULARY, Run

DP2, DP4, TP2, TP4 = {"dp": 2}, {"dp": 4}, {"tp": 2}, {"tp": 4}


class _Rows(nn.Module):
    """Some rows of a vocabulary, masked as inference engines do: by what is this process's own."""

    def __init__(self, whole: nn.Module, run: Run) -> None:
        super().__init__()
        assert isinstance(whole, nn.Embedding)
        size, own = run.size("tp"), run.at("tp")
        self.weight = nn.Parameter(whole.weight.detach().chunk(size)[own].clone())
        self.first, self.last = own * VOCABULARY // size, (own + 1) * VOCABULARY // size
        self.claimed, self.group = self.first, run.group("tp")

    def forward(self, tokens: Tensor) -> Tensor:
        mine = (tokens >= self.claimed) & (tokens < self.last)
        local = (tokens - self.first).clamp(0, self.weight.shape[0] - 1)
        rows = functional.embedding(local, self.weight)
        return Reduce.apply(rows * mine.unsqueeze(-1), self.group)


@case("held", TP2, r"\bembedding\b")
def a_row_of_two_owners(run: Run) -> None:
    """Rank 1 looks up the last rows of rank 0 as well."""
    model = tensor.cut(net(run.dtype), run)
    model.embedding = _Rows(model.embedding, run)
    model.embedding.claimed -= 3 if run.wrong and run.rank else 0
    run.train(model, lambda step: tensor.backward(run, model, step))


class _Gathered(autograd.Function):
    """Logits of all processes; the gradient of what all have whole is `summed`, or is not."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, group: dist.ProcessGroup, summed: bool) -> Tensor:
        ctx.group, ctx.summed = group, summed
        return gathered(x, group, x.ndim - 1)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        whole = all_reduced(grads[0], ctx.group) if ctx.summed else grads[0]
        return whole.chunk(ctx.group.size(), -1)[ctx.group.rank()].contiguous(), None, None


class _Head(nn.Module):
    def __init__(self, whole: nn.Module, run: Run) -> None:
        super().__init__()
        self.part, self.group, self.summed = tensor.Column(whole, run), run.group("tp"), run.wrong

    def forward(self, x: Tensor) -> Tensor:
        return _Gathered.apply(self.part(x), self.group, self.summed)  # type: ignore[no-untyped-call]


@case("held", TP2, r"\bhead\b")
def gradients_of_whole_logits_summed(run: Run) -> None:
    """Every process has the gradient of all logits already, and they are added up."""
    model = tensor.cut(net(run.dtype), run)
    model.head = _Head(model.head, run)
    run.train(model, lambda step: tensor.backward(run, model, step))


@case("held", TP4, r"layers\.1\.down", r"^Tensor\.__r?mul__")
def a_process_leaves_its_part_out(run: Run) -> None:
    """A switch is off on the last of four processes."""
    model, group = tensor.cut(net(run.dtype), run), run.group("tp")
    switch = 0.0 if run.wrong and run.rank == 3 else 1.0
    tensor.row_of(model, 1).leave = lambda x: Reduce.apply(switch * x, group)
    run.train(model, lambda step: tensor.backward(run, model, step))


@case("held", DP4, r"^Optimizer\.", r"^optimizer$")
def divided_behind_ddp(run: Run) -> None:
    """The program divides by the number of processes what DDP has averaged."""
    model = net(run.dtype)
    wrapped = DistributedDataParallel(model)

    def work(step: int) -> None:
        data.backward(run, wrapped, step)
        for parameter in model.parameters():
            if run.wrong and parameter.grad is not None:
                parameter.grad.div_(run.world)

    run.train(wrapped, work)


@case("held", DP2, r"Optimizer\.layers\.1\.up\.weight")
def an_owner_reads_its_own_gradient(run: Run) -> None:
    """Processes share the optimizer out, and one weight's gradient is not averaged."""
    model = net(run.dtype)
    parameters = dict(model.named_parameters())
    own = [p for at, p in enumerate(parameters.values()) if at % run.world == run.rank]

    def work(step: int) -> None:
        data.backward(run, model, step)
        for name, parameter in parameters.items():
            if not (run.wrong and name == "layers.1.up.weight"):
                dist.all_reduce(parameter.grad)
                parameter.grad.div_(run.world)  # type: ignore[union-attr]

    def send(_: int) -> None:
        for at, parameter in enumerate(parameters.values()):
            dist.broadcast(parameter.data, at % run.world)

    run.train(model, work, run.optimizer(own), send)
