"""What happens between the gradients and the weights of the next step."""

from __future__ import annotations

import torch
from torch.nn.utils import clip_grad_norm_

from evaluation.placements.case import case
from evaluation.placements.families import data, tensor
from evaluation.placements.net import net
from evaluation.placements.run import Run

DP2, TP2 = {"dp": 2}, {"tp": 2}


@case("first", DP2, r"layers\.0\.up\b")
def weight_kept_on_one(run: Run) -> None:
    """One process keeps a weight as it was before the update."""
    model = net(run.dtype)
    weight = model.layers[0].up.weight
    before = weight.detach().clone()

    def work(step: int) -> None:
        before.copy_(weight.detach())
        data.backward(run, model, step)
        data.average(run, model)

    def forget(step: int) -> None:
        if run.wrong and run.rank == 1:
            weight.data.copy_(before)

    run.train(model, work, after=forget)


@case("second", DP2, r"^Optimizer\.", r"^optimizer")
def clipped_before_the_mean(run: Run) -> None:
    """Each replica clips by the norm of its own gradients, and then they are averaged."""
    model = net(run.dtype)

    def work(step: int) -> None:
        data.backward(run, model, step)
        if run.wrong:
            clip_grad_norm_(model.parameters(), 0.05)
        data.average(run, model)
        if not run.wrong:
            clip_grad_norm_(model.parameters(), 0.05)

    run.train(model, work)


@case("second", TP2, r"^Optimizer\.", r"^optimizer")
def clipped_by_torchs_own_norm(run: Run) -> None:
    """The clipping of torch takes the parts of a process for the whole."""
    model = tensor.cut(net(run.dtype), run)

    def work(step: int) -> None:
        tensor.backward(run, model, step)
        if run.wrong:
            clip_grad_norm_(model.parameters(), 0.05)
        else:
            tensor.clipped(run, model, 0.05, True)

    run.train(model, work)


@case("first", DP2, r"^Optimizer\.", r"^optimizer")
def other_rates(run: Run) -> None:
    """The learning rate falls on one replica only."""
    model = net(run.dtype)
    rate = 5e-3 if run.wrong and run.rank == 1 else 1e-2
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, eps=1e-5)

    def work(step: int) -> None:
        data.backward(run, model, step)
        data.average(run, model)

    run.train(model, work, optimizer)
