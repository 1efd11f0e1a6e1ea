"""Layers that are cut over processes: column by column, then row by row."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn import functional

from evaluation.parallel.collective import Copy, Gather, Reduce
from evaluation.placements.case import case
from evaluation.placements.families.data import average
from evaluation.placements.net import Layer, Net, loss_of, net
from evaluation.placements.run import Run

TP2, TP4, TP2_DP2 = {"tp": 2}, {"tp": 4}, {"tp": 2, "dp": 2}
Operation = Callable[[Tensor], Tensor]


class Column(nn.Module):
    """A share of the outputs; the gradient of what comes in is summed."""

    def __init__(self, whole: nn.Module, run: Run, enters: bool = True) -> None:
        super().__init__()
        assert isinstance(whole, nn.Linear)
        size, own, group = run.size("tp"), run.at("tp"), run.group("tp")
        self.weight = nn.Parameter(whole.weight.detach().chunk(size)[own].clone())
        self.bias = None
        if whole.bias is not None:
            self.bias = nn.Parameter(whole.bias.detach().chunk(size)[own].clone())
        self.enter: Operation = (lambda x: Copy.apply(x, group)) if enters else (lambda x: x)

    def forward(self, x: Tensor) -> Tensor:
        return functional.linear(self.enter(x), self.weight, self.bias)


class Row(nn.Module):
    """A share of the inputs; `leave` sums up what comes out, the bias is added behind it."""

    def __init__(self, whole: nn.Module, run: Run) -> None:
        super().__init__()
        assert isinstance(whole, nn.Linear)
        size, own, group = run.size("tp"), run.at("tp"), run.group("tp")
        self.weight = nn.Parameter(whole.weight.detach().chunk(size, 1)[own].clone())
        self.bias = nn.Parameter(whole.bias.detach().clone())
        self.leave: Operation = lambda x: Reduce.apply(x, group)
        self.adds_inside = False
        self.share = 1.0

    def forward(self, x: Tensor) -> Tensor:
        if self.adds_inside:
            bias = self.bias if self.share == 1.0 else self.bias * self.share
            return self.leave(functional.linear(x, self.weight, bias))
        return self.leave(functional.linear(x, self.weight)) + self.bias


def cut(model: Net, run: Run) -> Net:
    """Cut every layer in place; embedding, norms and head stay whole."""
    for layer in model.layers:
        assert isinstance(layer, Layer)
        layer.up, layer.down = Column(layer.up, run), Row(layer.down, run)
    return model


def backward(run: Run, model: nn.Module, step: int) -> None:
    """Forward and backward; all processes along tp read the same."""
    tokens, labels = run.batch(step, run.at("dp"))
    loss_of(model(tokens), labels).backward()  # type: ignore[no-untyped-call]


def row_of(model: Net, layer: int) -> Row:
    """The layer that sums up."""
    found = model.layers[layer].down
    assert isinstance(found, Row)
    return found


def column_of(model: Net, layer: int) -> Column:
    """The layer that is cut first."""
    found = model.layers[layer].up
    assert isinstance(found, Column)
    return found


@case("first", TP2, r"layers\.0\.down")
def no_row_is_summed(run: Run) -> None:
    """No layer sums up its parts."""
    model = cut(net(run.dtype), run)
    for layer in range(len(model.layers)):
        if run.wrong:
            row_of(model, layer).leave = lambda x: x
    run.train(model, lambda step: backward(run, model, step))


@case("first", TP4, r"layers\.1\.down")
def activated_before_the_sum(run: Run) -> None:
    """An activation works on each process's part."""
    model, group = cut(net(run.dtype), run), run.group("tp")
    row_of(model, 1).leave = lambda x: (
        Reduce.apply(functional.silu(x), group)
        if run.wrong
        else functional.silu(Reduce.apply(x, group))
    )
    run.train(model, lambda step: backward(run, model, step))


@case("first", TP2, r"layers\.0\.down", r"^Distributed\.all_reduce\.0")
def bias_on_every_process(run: Run) -> None:
    """Each process adds the whole bias to its part; the right twin adds a share of it."""
    model = cut(net(run.dtype), run)
    for layer in range(len(model.layers)):
        row = row_of(model, layer)
        row.adds_inside = True
        row.share = 1.0 if run.wrong else 1.0 / run.size("tp")
    run.train(model, lambda step: backward(run, model, step))


@case("first", TP2, r"layers\.1\.(up|norm)\b")
def gradient_of_the_input_not_summed(run: Run) -> None:
    """The last layer hands on its part of the gradient of what it read."""
    model = cut(net(run.dtype), run)
    if run.wrong:
        column_of(model, 1).enter = lambda x: x
    run.train(model, lambda step: backward(run, model, step))


@case("second", TP2, r"layers\.1\.(up|norm)\b")
def no_gradient_of_an_input_is_summed(run: Run) -> None:
    """No layer sums up the gradient of what it read."""
    model = cut(net(run.dtype), run)
    for layer in range(len(model.layers)):
        if run.wrong:
            column_of(model, layer).enter = lambda x: x
    run.train(model, lambda step: backward(run, model, step))


@case("second", TP2, r"dropout", r"layers\.0\b")
def masks_of_their_own(run: Run) -> None:
    """What is whole loses other elements on each process."""
    model = cut(net(run.dtype, dropout=0.2), run)

    def work(step: int) -> None:
        torch.manual_seed(step + (100 * run.rank if run.wrong else 0))
        backward(run, model, step)

    run.train(model, work)


@case("second", TP2_DP2, r"layers\.1\.down", r"^Distributed\.all_reduce")
def sum_over_the_replicas(run: Run) -> None:
    """One layer sums up its parts over the data-parallel group."""
    model = cut(net(run.dtype), run)
    group = run.group("dp" if run.wrong else "tp")
    row_of(model, 1).leave = lambda x: Reduce.apply(x, group)

    def work(step: int) -> None:
        backward(run, model, step)
        average(run, model)

    run.train(model, work)


@case("second", TP2, r"layers\.0\.down", r"^Distributed\.all_reduce\.")
def residual_summed_with_the_part(run: Run) -> None:
    """What is whole is added before the sum; the right twin adds a share of it."""
    model, group = cut(net(run.dtype), run), run.group("tp")
    share = 1.0 if run.wrong else 1.0 / run.size("tp")

    class Joined(nn.Module):
        def __init__(self, layer: nn.Module) -> None:
            super().__init__()
            self.norm, self.up, self.down = layer.norm, layer.up, layer.down
            self.down.leave = lambda x: x  # type: ignore[union-attr,assignment]
            # A bias that no one trains: each process would add the whole of it to its part.
            self.down.bias.requires_grad_(False).zero_()  # type: ignore[union-attr,operator]

        def forward(self, x: Tensor) -> Tensor:
            part = self.down(functional.gelu(self.up(self.norm(x))))
            left = x if share == 1.0 else x * share
            return Reduce.apply(left + part, group)

    model.layers = nn.ModuleList(Joined(layer) for layer in model.layers)
    run.train(model, lambda step: backward(run, model, step))


@case("first", TP2, r"Optimizer\.head\.weight", r"\bhead\b")
def whole_weights_drawn_apart(run: Run) -> None:
    """The head, which all processes hold whole, starts with another weight on each."""
    model = cut(net(run.dtype), run)
    if run.wrong:
        torch.manual_seed(50 + run.rank)
        with torch.no_grad():
            model.head.weight.add_(0.1 * torch.randn_like(model.head.weight))
    run.train(model, lambda step: backward(run, model, step))


@case("second", TP2, r"cross_entropy", r"\bhead\b")
def loss_over_a_part_of_the_vocabulary(run: Run) -> None:
    """Each process takes the loss of its part of the logits; the right twin gathers them."""
    model = cut(net(run.dtype), run)
    head = Column(model.head, run)
    model.head = head
    group, share = run.group("tp"), head.weight.shape[0]

    def work(step: int) -> None:
        tokens, labels = run.batch(step)
        logits = model(tokens)
        if run.wrong:
            loss_of(logits, labels % share).backward()
        else:
            loss_of(Gather.apply(logits, group, logits.ndim - 1, False), labels).backward()

    run.train(model, work)


@case("first", TP2, r"^Distributed\.all_reduce", r"layers\.1\.down")
def summed_again(run: Run) -> None:
    """One layer sums up what is summed already; the right twin takes the mean of it."""
    model, group = cut(net(run.dtype), run), run.group("tp")

    def twice(x: Tensor) -> Tensor:
        again = Reduce.apply(Reduce.apply(x, group), group)
        return again if run.wrong else again / run.size("tp")

    row_of(model, 1).leave = twice
    run.train(model, lambda step: backward(run, model, step))


@case("second", TP2, r"\bembedding\b", r"^Module\.Net", r"^inputs")
def rows_in_another_order(run: Run) -> None:
    """The second process reads the rows of the batch the other way round."""
    model = cut(net(run.dtype), run)

    def work(step: int) -> None:
        tokens, labels = run.batch(step)
        if run.wrong and run.at("tp") == 1:
            tokens, labels = tokens.flip(0), labels.flip(0)
        loss_of(model(tokens), labels).backward()

    run.train(model, work)


def clipped(run: Run, model: nn.Module, most: float, of_all: bool) -> None:
    """Clip by the norm of the whole, or by that of the process's own gradients."""
    total = torch.zeros(())
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None
        is_cut = ".up." in name or name.endswith("down.weight")
        share = 1.0 if is_cut or not of_all else 1.0 / run.size("tp")
        total += share * parameter.grad.float().square().sum()
    if of_all:
        dist.all_reduce(total, group=run.group("tp"))
    factor = (most / total.sqrt()).clamp(max=1.0)
    for parameter in model.parameters():
        assert parameter.grad is not None
        parameter.grad.mul_(factor)


@case("first", TP2, r"^Optimizer\.")
def clipped_by_an_own_norm(run: Run) -> None:
    """Each process clips by the norm of the gradients that it holds."""
    model = cut(net(run.dtype), run)

    def work(step: int) -> None:
        backward(run, model, step)
        clipped(run, model, 0.05, not run.wrong)

    run.train(model, work)
