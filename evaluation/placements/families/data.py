"""Replicas of the whole model, each on its share of the batch."""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from evaluation.placements.case import case
from evaluation.placements.net import WIDTH, Layer, loss_of, net, summed_loss_of
from evaluation.placements.run import VOCABULARY, Run

DP2, DP4 = {"dp": 2}, {"dp": 4}


def backward(run: Run, model: nn.Module, step: int, share: int | None = None) -> None:
    """Forward and backward on the process's share of the batch."""
    tokens, labels = run.batch(step, run.at("dp") if share is None else share)
    loss_of(model(tokens), labels).backward()  # type: ignore[no-untyped-call]


def average(run: Run, model: nn.Module, without: str = "", axis: str = "dp") -> None:
    """The mean of gradients over an axis, of all parameters but those named."""
    for name, parameter in model.named_parameters():
        if (not without or without not in name) and parameter.grad is not None:
            dist.all_reduce(parameter.grad, group=run.group(axis))
            parameter.grad.div_(run.size(axis))


@case("first", DP2, r"Optimizer\.layers\.1\.down\.weight")
def gradient_left_out(run: Run) -> None:
    """One weight is missing in the list of gradients that are averaged."""
    model = net(run.dtype)

    def work(step: int) -> None:
        backward(run, model, step)
        average(run, model, "layers.1.down.weight" if run.wrong else "")

    run.train(model, work)


@case("first", DP4, r"^Optimizer\.", r"^Distributed\.all_reduce")
def group_too_small(run: Run) -> None:
    """Gradients are averaged over pairs of the four replicas."""
    model = net(run.dtype)
    pairs = run.subgroup([0, 1], [2, 3])

    def work(step: int) -> None:
        backward(run, model, step)
        for parameter in model.parameters():
            group = pairs if run.wrong else run.group("dp")
            dist.all_reduce(parameter.grad, group=group)
            parameter.grad.div_(group.size())  # type: ignore[union-attr]

    run.train(model, work)


@case("first", DP2, r"Optimizer\.head\.weight", r"^Distributed\.all_reduce")
def one_gradient_summed_twice(run: Run) -> None:
    """The head is reduced with all others and once more on its own."""
    model = net(run.dtype)

    def work(step: int) -> None:
        backward(run, model, step)
        average(run, model)
        if run.wrong:
            dist.all_reduce(model.head.weight.grad, group=run.group("dp"))

    run.train(model, work)


@case("first", DP2, r"Optimizer\.(norm|layers\.\d\.norm)\.")
def norms_divided_twice(run: Run) -> None:
    """The gradients of norms are divided by the number of replicas a second time."""
    model = net(run.dtype)

    def work(step: int) -> None:
        backward(run, model, step)
        average(run, model)
        for name, parameter in model.named_parameters():
            if run.wrong and "norm" in name and parameter.grad is not None:
                parameter.grad.div_(run.size("dp"))

    run.train(model, work)


@case("first", DP2, r"\bembedding\b", r"^Module\.Net", r"^inputs")
def same_share_of_the_batch(run: Run) -> None:
    """Both replicas read the first share of the batch."""
    model = net(run.dtype)

    def work(step: int) -> None:
        backward(run, model, step, 0 if run.wrong else None)
        average(run, model)

    run.train(model, work)


@case("first", DP2, r"Optimizer\.layers\.0\.")
def reduced_before_all_is_there(run: Run) -> None:
    """The first layer is reduced behind the first of two micro-batches."""
    model = net(run.dtype)

    def work(step: int) -> None:
        for micro in range(2):
            tokens, labels = run.batch(step, run.at("dp"), micro)
            (loss_of(model(tokens), labels) / 2).backward()
            if run.wrong and micro == 0:
                for parameter in model.layers[0].parameters():
                    dist.all_reduce(parameter.grad, group=run.group("dp"))
        average(run, model, "layers.0." if run.wrong else "")

    run.train(model, work)


@case("second", DP2, r"Optimizer\.", r"^Distributed\.all_reduce")
def a_copy_is_reduced(run: Run) -> None:
    """What is averaged is a copy of the gradients of one layer, which the optimizer never sees."""
    model = net(run.dtype)

    def work(step: int) -> None:
        backward(run, model, step)
        average(run, model, "layers.0.")
        gradients = [p.grad for p in model.layers[0].parameters() if p.grad is not None]
        flat = torch.cat([gradient.flatten() for gradient in gradients])
        dist.all_reduce(flat, group=run.group("dp"))
        flat.div_(run.size("dp"))
        pieces = flat.split([gradient.numel() for gradient in gradients])
        for gradient, piece in zip(gradients, pieces, strict=True):
            if not run.wrong:
                gradient.copy_(piece.view_as(gradient))

    run.train(model, work)


@case("second", DP2, r"Optimizer\.", is_told=False)
def ddp_is_bypassed(run: Run) -> None:
    """The forward pass goes to the module inside DDP, whose reducer waits for its own call."""
    wrapped = DistributedDataParallel(net(run.dtype))

    def work(step: int) -> None:
        backward(run, wrapped.module if run.wrong else wrapped, step)

    run.train(wrapped, work)


@case("second", DP2, r"Optimizer\.", is_told=False)
def ddp_never_synchronises(run: Run) -> None:
    """Gradients are accumulated without a reduction in the last micro-batch too."""
    wrapped = DistributedDataParallel(net(run.dtype))

    def work(step: int) -> None:
        for micro in range(2):
            tokens, labels = run.batch(step, run.at("dp"), micro)
            if micro == 0 or run.wrong:
                with wrapped.no_sync():
                    (loss_of(wrapped(tokens), labels) / 2).backward()
            else:
                (loss_of(wrapped(tokens), labels) / 2).backward()

    run.train(wrapped, work)


class Adapter(nn.Module):
    """A linear layer and two small factors beside it."""

    def __init__(self, inner: nn.Module, seed: int) -> None:
        super().__init__()
        self.inner = inner
        generator = torch.Generator().manual_seed(seed)
        weight = inner.weight
        shapes = (4, weight.shape[1]), (weight.shape[0], 4)  # type: ignore[union-attr,index]
        first, second = (0.2 * torch.randn(shape, generator=generator) for shape in shapes)
        self.first = nn.Parameter(first.to(weight.dtype))  # type: ignore[union-attr,arg-type]
        self.second = nn.Parameter(second.to(weight.dtype))  # type: ignore[union-attr,arg-type]

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x) + x @ self.first.t() @ self.second.t()


@case("second", DP2, r"Optimizer\..*(first|second)", is_told=False)
def adapters_behind_ddp(run: Run) -> None:
    """Adapters that are put in after the model was wrapped are no business of DDP's reducer."""
    model = net(run.dtype)

    def adapt(seed: int) -> None:
        for layer in model.layers:
            assert isinstance(layer, Layer)
            layer.down = Adapter(layer.down, seed)

    if not run.wrong:
        adapt(3)
    wrapped = DistributedDataParallel(model)
    if run.wrong:
        adapt(3)
    run.train(wrapped, lambda step: backward(run, wrapped, step))


@case("first", DP2, r"\bembedding\b", r"^Module\.")
def weights_not_sent(run: Run) -> None:
    """Each replica draws its own first weights, and nobody sends those of the first."""
    model = net(run.dtype, seed=run.rank)
    if not run.wrong:
        for parameter in model.parameters():
            dist.broadcast(parameter.data, 0)

    def work(step: int) -> None:
        backward(run, model, step)
        average(run, model)

    run.train(model, work)


@case("second", DP2, r"^Optimizer\.", r"^Distributed\.all_reduce", r"^Tensor\.div_")
def own_number_of_tokens(run: Run) -> None:
    """Sums of losses are divided by the process's own number of tokens behind the reduction."""
    model = net(run.dtype)

    def work(step: int) -> None:
        tokens, labels = run.batch(step, run.at("dp"))
        labels[:, : 2 * run.at("dp")] = -100
        summed_loss_of(model(tokens), labels).backward()
        count = (labels != -100).sum().float()
        if not run.wrong:
            dist.all_reduce(count, group=run.group("dp"))
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad, group=run.group("dp"))
            parameter.grad.div_(count)  # type: ignore[union-attr]

    run.train(model, work)


@case("second", DP2, r"^Optimizer\.")
def other_gradients_are_read(run: Run) -> None:
    """The optimizer reads `main_grad`, and what is averaged is `grad`."""
    model = net(run.dtype)
    for parameter in model.parameters():
        parameter.main_grad = torch.zeros_like(parameter)  # type: ignore[attr-defined]

    def work(step: int) -> None:
        backward(run, model, step)
        if run.wrong:
            _fill(model)
        average(run, model)
        if not run.wrong:
            _fill(model)
        for parameter in model.parameters():
            parameter.grad = parameter.main_grad.clone()  # type: ignore[attr-defined]

    run.train(model, work)


def _fill(model: nn.Module) -> None:
    for parameter in model.parameters():
        parameter.main_grad.copy_(parameter.grad)  # type: ignore[attr-defined]


assert VOCABULARY > WIDTH  # extents that nobody mistakes for each other
