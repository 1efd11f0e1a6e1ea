"""Parts of the sequence all the way: context parallelism."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from evaluation.parallel.collective import Gather
from evaluation.placements.case import case
from evaluation.placements.families.data import average
from evaluation.placements.net import WIDTH, Layer, Net, loss_of, net, with_layers
from evaluation.placements.run import Run

CP2, CP2_DP2 = {"cp": 2}, {"cp": 2, "dp": 2}


class Mixing(nn.Module):
    """A layer in front of which each token looks at those of all processes."""

    def __init__(self, layer: Layer, run: Run, seed: int) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.keys = nn.Linear(WIDTH, WIDTH, bias=False).to(run.dtype)
        self.layer, self.run = layer, run

    def forward(self, x: Tensor) -> Tensor:
        keys = Gather.apply(self.keys(x), self.run.group("cp"), 1, True)
        chances = torch.softmax(x @ keys.transpose(1, 2) / WIDTH**0.5, -1)
        return self.layer(x + chances @ keys)


def mixing(run: Run) -> Net:
    """A network whose layers look at the whole sequence."""
    return with_layers(net(run.dtype), lambda layer, seed: Mixing(layer, run, seed))


def backward(run: Run, model: nn.Module, step: int) -> None:
    """Forward and backward on the process's part of the sequence."""
    tokens, labels = run.batch(step, run.at("dp"))
    own = [whole.chunk(run.size("cp"), 1)[run.at("cp")].contiguous() for whole in (tokens, labels)]
    loss_of(model(own[0]), own[1]).backward()  # type: ignore[no-untyped-call]


@case("first", CP2, r"Optimizer\.layers\.0\.keys")
def keys_left_out(run: Run) -> None:
    """One weight's gradient stays that of the process's part of the sequence."""
    model = mixing(run)

    def work(step: int) -> None:
        backward(run, model, step)
        average(run, model, "layers.0.keys" if run.wrong else "", "cp")

    run.train(model, work)


@case("second", CP2_DP2, r"^Optimizer\.")
def averaged_over_replicas_only(run: Run) -> None:
    """Gradients are averaged over dp and not over cp."""
    model = mixing(run)

    def work(step: int) -> None:
        backward(run, model, step)
        average(run, model)
        if not run.wrong:
            average(run, model, axis="cp")

    run.train(model, work)


@case("second", CP2_DP2, r"Optimizer\.head", r"^Distributed\.all_reduce")
def head_divided_by_the_wrong_size(run: Run) -> None:
    """The head's gradient, summed over cp and dp, is divided by the size of one of them."""
    model = mixing(run)

    def work(step: int) -> None:
        backward(run, model, step)
        average(run, model, axis="cp")
        average(run, model)
        if run.wrong and model.head.weight.grad is not None:
            model.head.weight.grad.mul_(run.size("cp"))

    run.train(model, work)
