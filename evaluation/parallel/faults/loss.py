"""Seeded bugs: how losses and gradients are divided by micro-batches and tokens."""

from __future__ import annotations

from torch import Tensor

from evaluation.parallel.experiment import Experiment, divide_by_tokens
from evaluation.parallel.faults.base import fault
from evaluation.parallel.layout import Layout
from evaluation.parallel.size import Size

PER_TOKEN = Layout(dp=2, per_token=True)
MASKED = Size(masked=True)
_DIVISION = (
    r"^optimizer$",
    r"^Optimizer\.",
    r"^Distributed\.",
    r"cross_entropy",
    r"__(mul|truediv)__",
)


@fault(Layout(dp=2, micro_batches=2), *_DIVISION)
def micro_loss_not_divided(run: Experiment) -> None:
    """The loss of each micro-batch counts in full on all replicas."""
    run.loss_scale *= run.mesh.layout.micro_batches


@fault(Layout(micro_batches=4), *_DIVISION, benchmark=Layout(micro_batches=4))
def micro_one_loss_divided_twice(run: Experiment) -> None:
    """The third micro-batch's loss is divided twice."""
    loss, calls = run.loss, 0
    assert loss is not None

    def divided(logits: Tensor, labels: Tensor) -> Tensor:
        nonlocal calls
        calls += 1
        whole = loss(logits, labels)
        return whole / 4 if calls % 4 == 3 else whole

    run.loss = divided


@fault(
    PER_TOKEN,
    r"^optimizer$",
    r"^Optimizer\.",
    r"^Distributed\.",
    r"^Tensor\.mul_",
    size=MASKED,
    benchmark=Layout(per_token=True),
)
def per_token_local_count(run: Experiment) -> None:
    """Gradients are divided by the tokens of the process alone."""
    run.after_backward["tokens"] = lambda: divide_by_tokens(run, ())
