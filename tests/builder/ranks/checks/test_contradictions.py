"""`msprobe check` on values that are what they may not be, each beside programs that are sound."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from builder.dump.sources import find_sources
from builder.ranks.checks.self_check import CheckFinding, check_dump
from builder.ranks.layout.coordinates import Sizes
from builder.reasons import (
    AllDividedTwice,
    CopiesApart,
    CopiesScaledApart,
    FewerReductions,
    LayersEqual,
    NormCountsOften,
    OwnerReadsOwn,
    PartEmptied,
    PositionsMisplaced,
    RankReason,
    RowsOwnedTwice,
    RowsUnowned,
    SharesEqual,
    SummedAgain,
)
from evaluation.parallel.collective import Gather, Reduce
from evaluation.parallel.experiment import Experiment, scale_gradients
from evaluation.parallel.faults import FAULTS
from evaluation.parallel.faults.base import DP, PP, SP, TP, layer_of, model_of
from evaluation.parallel.layout import Layout
from evaluation.parallel.record import record
from evaluation.parallel.size import Size

Change = Callable[[Experiment], None]
_BY_NAME = {fault.name: fault for fault in FAULTS}


def _checked(folder: Path, change: Change, layout: Layout, size: Size) -> list[CheckFinding]:
    record(layout, folder, "statistics", 0, size, change)
    return check_dump(find_sources(folder / "dump"), Sizes()).findings


@pytest.mark.parametrize(
    ("name", "node", "ranks", "reason"),
    [
        ("tp_same_rows", "layers.3.mlp.down", (0, 1), SharesEqual),
        ("pp_stage_division", "layers.2.attention_norm", (1,), LayersEqual),
        ("pp_tied_weight_differs", "Optimizer.head.weight", (1,), CopiesApart),
        ("tp_embedding_mask", "Module.embedding", (0, 1), RowsUnowned),
        ("padded_rows_shifted", "Module.embedding", (0, 1), RowsOwnedTwice),
        ("tp_rank_adds_nothing", "Tensor.__mul__", (2,), PartEmptied),
        ("tp_head_gradient_doubled", "Distributed.reduce_scatter", (0, 1), SummedAgain),
        ("sp_gather_without_sum", "layers.1.attention.qkv", (0, 1), FewerReductions),
        ("cp_attention_grad", "layers.1.attention", (0, 1), FewerReductions),
        ("cp_positions", "Module.position", (0, 1), PositionsMisplaced),
        ("zero_gradient_not_reduced", "layers.2.attention.out", (0,), OwnerReadsOwn),
        ("dp_averaged_twice", "Optimizer.", (0, 1), AllDividedTwice),
        ("tp_norm_counts_twice", "Tensor.sqrt", (0, 1), NormCountsOften),
        ("per_token_local_count", "Tensor.mul_.0.", (0, 1), CopiesScaledApart),
        ("tp_clip_local", "Tensor.mul_.1.", (0, 1), CopiesScaledApart),
    ],
)
def test_a_contradiction_is_named_first_by_node_ranks_and_reason(
    tmp_path: Path, name: str, node: str, ranks: tuple[int, ...], reason: type[RankReason]
) -> None:
    fault = _BY_NAME[name]
    first = _checked(tmp_path, fault.change, fault.layout, fault.size)[0]
    assert isinstance(first.reasons[0], reason), first.text
    assert node in first.node
    assert first.ranks == ranks


def test_a_sum_of_whole_gradients_is_named_with_the_module_behind_which_it_stands(
    tmp_path: Path,
) -> None:
    fault = _BY_NAME["tp_head_gradient_doubled"]
    first = _checked(tmp_path, fault.change, fault.layout, fault.size)[0]
    assert first.inside.startswith("Module.head.")


def test_a_norm_that_counts_every_parameter_once_is_left_alone(tmp_path: Path) -> None:
    assert _checked(tmp_path, lambda run: None, TP, Size(clip=True)) == []


# --- sound twins --------------------------------------------------------------------------------


def _one_rank_hands_on_its_part(run: Experiment) -> None:
    """A sum of which all ranks but one give zeros is how the one's value gets to all."""
    layer, group = layer_of(run, 1).mlp.up, run.mesh.group("tp")
    kept = 1.0 if run.mesh.at("tp") == 2 else 0.0
    out = layer.forward
    layer.forward = lambda x: Reduce.apply(out(x) * kept, group)  # type: ignore[method-assign]


def _gradient_averaged(run: Experiment) -> None:
    """A whole gradient is divided by the number of the ranks that then add it up."""
    head, group = model_of(run).head, run.mesh.group("tp")

    def gathered(x: Tensor) -> Tensor:
        whole: Tensor = Gather.apply(x, group, x.ndim - 1, True)
        whole.register_hook(lambda gradient: gradient / 2)
        return whole

    head.leave = gathered


def _greatest_gradient(run: Experiment) -> None:
    """What is the same on all ranks is their mean and their greatest as well, and stays itself."""
    head, group = model_of(run).head, run.mesh.group("tp")

    def gathered(x: Tensor) -> Tensor:
        whole: Tensor = Gather.apply(x, group, x.ndim - 1, False)
        whole.register_hook(lambda gradient: _greatest(gradient, group))
        return whole

    head.leave = gathered


def _greatest(gradient: Tensor, group: dist.ProcessGroup | None) -> Tensor:
    same = gradient.clone()
    dist.all_reduce(same, dist.ReduceOp.MAX, group=group)  # gloo knows no mean
    return same


def _one_layer_is_recomputed(run: Experiment) -> None:
    block = layer_of(run, 1)
    forward = block.forward
    block.forward = lambda x, at: checkpoint(forward, x, at, use_reentrant=False)  # type: ignore[method-assign]


def _layers_are_copies(run: Experiment) -> None:
    """All layers begin as one, on whatever stage they are."""
    torch.manual_seed(5)
    for chunk in run.chunks:
        for name, parameter in chunk.named_parameters():
            if name.startswith("layers."):
                generator = torch.Generator().manual_seed(parameter.numel() + len(name[9:]))
                with torch.no_grad():
                    parameter.copy_(0.2 * torch.randn(parameter.shape, generator=generator))


def _rows_told_by_other_comparisons(run: Experiment) -> None:
    layer = model_of(run).embedding
    rows = layer.weight.shape[0]
    layer.is_foreign = lambda t: (t <= layer.first - 1) | (t > layer.first + rows - 1)


def _rows_that_are_kept(run: Experiment) -> None:
    """Tokens inside are kept, as inference engines do, where others mask those outside."""
    layer = model_of(run).embedding
    rows = layer.weight.shape[0]
    layer.is_foreign = lambda t: ~((t >= layer.first) & (t < layer.first + rows))


def _micro_batches_divided_at_the_end(run: Experiment) -> None:
    run.loss_scale *= 2
    run.after_backward["micro"] = lambda: scale_gradients(run, 0.5)


def test_what_one_rank_hands_on_to_all_by_a_sum_is_not_lost(tmp_path: Path) -> None:
    found = _checked(tmp_path, _one_rank_hands_on_its_part, Layout(tp=4), Size())
    assert not any(isinstance(r, PartEmptied) for each in found for r in each.reasons)


@pytest.mark.parametrize(
    ("change", "layout"),
    [
        (_gradient_averaged, TP),
        (_greatest_gradient, TP),
        (_one_layer_is_recomputed, SP),
        (_one_layer_is_recomputed, TP),
        (_layers_are_copies, PP),
        (_rows_told_by_other_comparisons, TP),
        (_rows_that_are_kept, TP),
        (_micro_batches_divided_at_the_end, Layout(dp=2, micro_batches=2)),
        (lambda run: None, DP),
    ],
)
def test_a_sound_twin_is_left_alone(tmp_path: Path, change: Change, layout: Layout) -> None:
    found = _checked(tmp_path, change, layout, Size())
    assert [(each.node, each.text) for each in found] == []
