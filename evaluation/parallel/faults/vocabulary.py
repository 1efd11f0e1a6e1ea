"""Seeded bugs: vocabularies that are padded so that they can be cut."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from evaluation.parallel.experiment import Experiment, cross_entropy
from evaluation.parallel.faults.base import fault, model_of
from evaluation.parallel.layout import Layout
from evaluation.parallel.size import Size

PADDED = Layout(tp=2, padded=True)
ODD = Size(vocabulary=50)


@fault(PADDED, r"cross_entropy", r"__getitem__", r"^Tensor\.flatten", size=ODD)
def padded_logits_counted(run: Experiment) -> None:
    """The logits of the padding take part in the loss."""
    run.mesh.layout = replace(run.mesh.layout, padded=False)
    run.loss = cross_entropy


@fault(PADDED, r"\bembedding\b", ranks=(1,), size=ODD)
def padded_rows_shifted(run: Experiment) -> None:
    """Process 1 counts its rows from the vocabulary's middle, as if there were no padding."""
    if run.mesh.at("tp") == 1:
        model_of(run).embedding.first = run.size.vocabulary // 2


@fault(
    Layout(tp=2, pp=2, micro_batches=2, padded=True),
    r"(embedding|head)\.",
    r"^Distributed\.all_reduce",
    size=replace(ODD, tied=True),
)
def padded_tied_not_summed(run: Experiment) -> None:
    """The copies of a shared, padded weight read their own gradients."""
    del run.after_backward["tied"]


@fault(PADDED, r"\bhead\b", ranks=(1,), size=ODD)
def padded_head_shard(run: Experiment) -> None:
    """Process 1's rows of the head stand one place too far up."""
    if run.mesh.at("tp") == 1:
        weight: Tensor = model_of(run).head.weight
        with torch.no_grad():
            weight.copy_(weight.roll(1, 0))
