"""Seeded bugs in the real layers of megatron-core; no rule of ours was tuned on them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from evaluation.parallel.fault import Fault
from evaluation.parallel.faults.base import FAULTS, nudge
from evaluation.parallel.layout import Layout
from evaluation.parallel.megatron import IS_INSTALLED, MegatronExperiment, fill

TP = Layout(tp=2, native="megatron")
SP = Layout(tp=2, sequence_parallel=True, native="megatron")
DP = Layout(dp=2, native="megatron")
Change = Callable[[MegatronExperiment], None]


def fault(
    layout: Layout, *culprits: str, ranks: tuple[int, ...] = ()
) -> Callable[[Change], Change]:
    def add(change: Change) -> Change:
        if IS_INSTALLED:
            FAULTS.append(Fault(change.__name__, layout, change, culprits, ranks))  # type: ignore[arg-type]
        return change

    return add


def _layer(run: MegatronExperiment, index: int) -> Any:
    return run.model.get_submodule(f"decoder.layers.{index}")


def _first_rank_alone(run: MegatronExperiment) -> bool:
    return run.layout.coordinate(run.rank, "tp") == 0


@fault(TP, r"layers\.1\.self_attention\.linear_proj")
def megatron_row_not_reduced(run: MegatronExperiment) -> None:
    """A row-parallel layer hands on its part of the sum."""
    _layer(run, 1).self_attention.linear_proj.explicit_expert_comm = True


@fault(TP, r"layers\.2\.mlp\.linear_fc1", r"layers\.2\.pre_mlp_layernorm")
def megatron_missing_input_grad_reduce(run: MegatronExperiment) -> None:
    """The gradient of a column-parallel layer's input stays each process's own part."""
    _layer(run, 2).mlp.linear_fc1.explicit_expert_comm = True


@fault(TP, r"word_embeddings")
def megatron_embedding_mask(run: MegatronExperiment) -> None:
    """The last row of each process counts as foreign."""
    run.model.get_submodule("embedding.word_embeddings").vocab_end_index -= 1  # type: ignore[operator]


@fault(TP, r"layers\.1\.mlp\b")
def megatron_gated_layout(run: MegatronExperiment) -> None:
    """Gate and value are cut as one block."""
    fc1 = _layer(run, 1).mlp.linear_fc1
    for name, parameter in fc1.named_parameters():
        whole = f"decoder.layers.1.mlp.linear_fc1.{name}"
        fill(whole, parameter, run.seed, run.place, pieces=1)


@fault(TP, r"layers\.0\.input_layernorm", ranks=(1,))
def megatron_replica_of_weight(run: MegatronExperiment) -> None:
    """One process starts with another weight of a norm."""
    if not _first_rank_alone(run):
        nudge(_layer(run, 0).input_layernorm.weight)


@fault(TP, r"layers\.3\.mlp\.linear_fc2", ranks=(1,))
def megatron_update_lost(run: MegatronExperiment) -> None:
    """One process forgets the update of a bias that all have."""
    parameter = _layer(run, 3).mlp.linear_fc2.bias
    if not _first_rank_alone(run):
        run.frozen.append((parameter, parameter.detach().clone()))


@fault(SP, r"input_layernorm|pre_mlp_layernorm|final_layernorm")
def megatron_sp_norm_grad(run: MegatronExperiment) -> None:
    """The gradients of the norms are those of each process's part of the sequence."""
    run.left_out = re.compile("layernorm")


@fault(SP, r"layers\.2\.self_attention\.linear_proj")
def megatron_sp_row_bias_grad(run: MegatronExperiment) -> None:
    """The gradient of a bias that is added to a part of the sequence is not summed up."""
    run.left_out = re.compile(r"layers\.2\.self_attention\.linear_proj\.bias")


@fault(DP, r"layers\.1\.self_attention\.linear_qkv")
def megatron_gradient_not_reduced(run: MegatronExperiment) -> None:
    """One weight's gradient is left out of the average over replicas."""
    run.left_out = re.compile(r"layers\.1\.self_attention\.linear_qkv\.weight")


@fault(Layout(tp=2, dp=2, native="megatron"), r"layers\.2\.mlp\.linear_fc2")
def megatron_wrong_group(run: MegatronExperiment) -> None:
    """A row-parallel layer sums over the data-parallel group."""
    _layer(run, 2).mlp.linear_fc2.tp_group = run.state.get_data_parallel_group()
