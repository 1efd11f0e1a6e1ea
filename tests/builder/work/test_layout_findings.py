"""What findings of joined ranks say beyond the values: missing sums, updates that differ."""

from __future__ import annotations

from pathlib import Path

from builder import BuildOptions, build, diagnose
from builder.results.report import Suspect
from tests.parallel.experiment import Experiment
from tests.parallel.faults import FAULTS
from tests.parallel.layout import Layout
from tests.parallel.record import Change, record


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
