"""Parts of the sequence between the layers that are cut: sequence parallelism."""

from __future__ import annotations

import torch.distributed as dist
from torch import Tensor, nn

from evaluation.parallel.collective import Gather, Scatter
from evaluation.placements.case import case
from evaluation.placements.families.data import average
from evaluation.placements.families.tensor import TP2, TP2_DP2, column_of, cut, row_of
from evaluation.placements.net import Net, loss_of, net
from evaluation.placements.run import Run


class Cut(nn.Module):
    """An embedding whose output each process keeps its part of; the gradient's sum is its own."""

    def __init__(self, whole: nn.Module, run: Run) -> None:
        super().__init__()
        assert isinstance(whole, nn.Embedding)
        self.weight, self.run = nn.Parameter(whole.weight.detach().clone()), run

    def forward(self, tokens: Tensor) -> Tensor:
        rows = nn.functional.embedding(tokens, self.weight)
        return Scatter.apply(rows, self.run.group("tp"), 1, False)


def spread(model: Net, run: Run) -> Net:
    """Cut layers, and the sequence between them, in place."""
    cut(model, run)
    group = run.group("tp")
    model.embedding = Cut(model.embedding, run)
    for layer in range(len(model.layers)):
        column_of(model, layer).enter = lambda x: Gather.apply(x, group, 1, True)
        row_of(model, layer).leave = lambda x: Scatter.apply(x, group, 1, True)
    return model


def backward(run: Run, model: Net, step: int) -> None:
    """Forward and backward; the head works on the whole sequence again."""
    tokens, labels = run.batch(step, run.at("dp"))
    x = model.embedding(tokens)
    for layer in model.layers:
        x = layer(x)
    whole = Gather.apply(model.norm(x), run.group("tp"), 1, False)
    loss_of(model.head(whole), labels).backward()


def sum_parts(run: Run, model: Net, without: str = "") -> None:
    """Sum up the gradients of what is whole and works on parts of the sequence."""
    for name, parameter in model.named_parameters():
        is_partial = "norm" in name or name.endswith("down.bias")
        if is_partial and not (without and without in name):
            dist.all_reduce(parameter.grad, group=run.group("tp"))


@case("first", TP2, r"Optimizer\.layers\.1\.norm")
def norm_left_out(run: Run) -> None:
    """One norm's gradient stays that of the process's part of the sequence."""
    model = spread(net(run.dtype), run)

    def work(step: int) -> None:
        backward(run, model, step)
        sum_parts(run, model, "layers.1.norm" if run.wrong else "")

    run.train(model, work)


@case("second", TP2, r"Optimizer\.layers\.\d\.down\.bias")
def no_bias_is_summed(run: Run) -> None:
    """The gradients of all biases behind the sums stay one process's."""
    model = spread(net(run.dtype), run)

    def work(step: int) -> None:
        backward(run, model, step)
        sum_parts(run, model, "down.bias" if run.wrong else "")

    run.train(model, work)


@case("second", TP2_DP2, r"Optimizer\.(norm|layers\.\d\.norm)", r"^Distributed\.all_reduce")
def norms_summed_over_the_replicas(run: Run) -> None:
    """The parts of norms' gradients are summed over the data-parallel group instead."""
    model = spread(net(run.dtype), run)

    def work(step: int) -> None:
        backward(run, model, step)
        for name, parameter in model.named_parameters():
            if "norm" in name or name.endswith("down.bias"):
                wrong = run.wrong and "norm" in name
                dist.all_reduce(parameter.grad, group=run.group("dp" if wrong else "tp"))
        average(run, model)

    run.train(model, work)
