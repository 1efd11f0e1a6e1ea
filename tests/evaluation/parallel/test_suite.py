"""A few of the cases of `make parallel`, in every test run."""

from __future__ import annotations

import pytest

from evaluation.parallel.record import Task
from evaluation.parallel.size import Precision
from evaluation.parallel.suite import Verdict, cases, judge


def _judged(names: tuple[str, ...], task: Task, precision: Precision = "float32") -> list[Verdict]:
    listed = [case for case in cases((task,), precision=precision) if case.name in names]
    assert len(listed) == len(names)
    return list(judge(listed, 1))


@pytest.mark.parametrize("task", ["statistics", "tensor"])
def test_sound_layouts_are_silent_and_compared(task: Task) -> None:
    names = ("tp2-sequence-parallel : single", "pp2-vpp2-micro_batches2 : single")
    for verdict in _judged(names, task):
        assert verdict.error is None
        assert verdict.findings == ()
        assert verdict.compared >= 0.8 * (verdict.compared + verdict.set_aside)


@pytest.mark.parametrize("task", ["statistics", "tensor"])
def test_faults_are_named_first_with_their_ranks(task: Task) -> None:
    names = ("tp_replica_of_weight", "dp_gradient_not_reduced")
    for verdict in _judged(names, task):
        assert verdict.place == 1, verdict
        assert verdict.right_ranks is not False, verdict


def test_a_run_is_judged_alone_and_against_a_sound_one_of_its_layout() -> None:
    """Without benchmarks of one process: sound pairs are one run each, or left out."""
    only = r"^(tp2 : single|tp_same_rows)$"
    alone = list(judge(cases(("statistics",), only=only, against="none"), 1))
    assert [(v.case.name, v.place) for v in alone] == [("tp2 : single", None), ("tp_same_rows", 1)]
    assert alone[0].findings == () and alone[0].compared > 0
    (same,) = judge(cases(("statistics",), only=only, against="same"), 1)
    assert (same.case.benchmark, same.error) == (same.case.problem, None)
    assert same.findings


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_half_formats_are_silent_and_compared(precision: Precision) -> None:
    names = ("tp2-sequence-parallel : single", "tp2-sequence-parallel-nativeplan : single apart")
    for verdict in _judged(names, "statistics", precision):
        assert verdict.error is None
        assert verdict.findings == ()
        assert verdict.compared >= 0.95 * (verdict.compared + verdict.set_aside)


def test_what_one_cause_does_to_many_parameters_is_one_finding() -> None:
    """A reduction that is left out for all norms, and updates that one stage forgets."""
    for verdict in _judged(("sp_layer_norm_grad", "pp4_stage_stale"), "statistics"):
        assert verdict.place == 1, verdict
        assert len(verdict.findings) == 1, verdict
        assert "the same is true of" in verdict.reasons[0]
