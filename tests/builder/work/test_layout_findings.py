"""What findings of joined ranks say beyond the values: missing sums, updates that differ."""

from __future__ import annotations

from pathlib import Path

import pytest

from builder import BuildOptions, build, diagnose
from builder.diagnosis.finding import Finding, FindingKind
from builder.dump.reader import Dump
from builder.dump.values import Values
from builder.match.tree import make_node
from builder.reasons import ReplicaDiffers
from builder.results.report import Suspect
from builder.work.layout_findings import _without_followers
from evaluation.parallel.experiment import Experiment
from evaluation.parallel.faults import FAULTS
from evaluation.parallel.layout import Layout
from evaluation.parallel.record import Change, record
from evaluation.parallel.size import Size


def _first(folder: Path, layout: Layout, change: Change) -> Suspect:
    record(Layout(), folder / "benchmark", "statistics")
    record(layout, folder / "problem", "statistics", change=change)
    dumps = folder / "problem" / "dump", folder / "benchmark" / "dump"
    return diagnose(build(*dumps, folder / "out", BuildOptions(workers=1)).path).findings[0]


def _step_twice_as_far(made: Experiment) -> None:
    for group in made.optimizer.param_groups:
        group["lr"] *= 2


def test_an_optimizer_that_steps_farther_is_named_for_what_it_writes(tmp_path: Path) -> None:
    first = _first(tmp_path, Layout(tp=2), _step_twice_as_far)
    assert (first.step, first.node.startswith("Optimizer.")) == (0, True)
    assert first.check == "update"
    assert "the gradient that the optimizer reads" in "; ".join(first.reasons)


def test_a_sum_that_one_layer_does_not_form_is_said_with_its_reader(tmp_path: Path) -> None:
    (fault,) = (fault for fault in FAULTS if fault.name == "tp_row_not_reduced")
    first = _first(tmp_path, fault.layout, fault.change)
    assert first.node == "Module.layers.1.attention.out.RowParallelLinear.forward.0"
    assert "of its peers add up over the ranks; here Tensor.__add__" in "; ".join(first.reasons)


def test_ranks_that_read_the_rows_of_others_are_named_by_the_checksums_of_rows(
    tmp_path: Path,
) -> None:
    (fault,) = (fault for fault in FAULTS if fault.name == "dp_same_data")
    first = _first(tmp_path, fault.layout, fault.change)
    assert first.node == "Module.embedding.Embedding.forward.0"
    assert "4 of the 8 rows of input.0" in first.reasons[0]
    assert "rank 1 (dp 1 of 2) was fed other data" in first.reasons[0]
    assert first.propagated_to > 0


def _conflict(node: str, kind: FindingKind, value: str, axis: str, order: int) -> Finding:
    reason = ReplicaDiffers(value, axis, ranks="0, 1", coordinates="", error=1.0)
    made = make_node(Dump(Path(), "", "", "", Values(), {}, {}, {}, {}, []), node, float(order))
    return Finding(kind, made, "problem", order, [reason], score=1.0)


@pytest.mark.parametrize(
    ("axis", "value", "count"),
    [("tp", "input.gradient", 1), ("dp", "input.gradient", 2), ("tp", "parameters.value", 2)],
)
def test_gradients_behind_activations_that_ranks_do_not_share_are_no_findings(
    axis: str, value: str, count: int
) -> None:
    first = _conflict("Module.w2.Linear.forward.0", "introduced", "output.0", "tp", 1)
    second = _conflict("Optimizer.norm.0.forward", "parameter_differs", value, axis, 9)
    kept = _without_followers([first, second])
    assert (len(kept), kept[0]) == (count, first)
    assert first.propagated_to == 2 - count


def test_a_part_that_rounding_hides_is_named_by_what_its_ranks_say(tmp_path: Path) -> None:
    """In bfloat16 the gradient that one layer does not add up is seen only where it is read."""
    size = Size().in_precision("bfloat16")
    (fault,) = (each for each in FAULTS if each.name == "cp_attention_grad")
    record(fault.layout, tmp_path / "p", "statistics", 0, size, fault.change)
    record(fault.benchmark, tmp_path / "b", "statistics", 0, size)
    made = build(tmp_path / "p" / "dump", tmp_path / "b" / "dump", tmp_path / "out")
    first = diagnose(made.path).findings[0]
    assert first.node == "Module.layers.1.attention.Attention.backward.0"
    assert "0 calls of reduce_scatter" in first.reasons[0]
