"""A few of the cases of `make parallel`, in every test run."""

from __future__ import annotations

import pytest

from tests.parallel.suite import Verdict, cases, judge


def _judged(names: tuple[str, ...], task: str) -> list[Verdict]:
    listed = [case for case in cases((task,)) if case.name in names]  # type: ignore[arg-type]
    assert len(listed) == len(names)
    return list(judge(listed, 1))


@pytest.mark.parametrize("task", ["statistics", "tensor"])
def test_sound_layouts_are_silent_and_compared(task: str) -> None:
    names = ("tp2-sequence-parallel : single", "pp2-vpp2-micro_batches2 : single")
    for verdict in _judged(names, task):
        assert verdict.error is None
        assert verdict.findings == ()
        assert verdict.compared >= 0.8 * (verdict.compared + verdict.set_aside)


@pytest.mark.parametrize("task", ["statistics", "tensor"])
def test_faults_are_named_first_with_their_ranks(task: str) -> None:
    names = ("tp_replica_of_weight", "dp_gradient_not_reduced")
    for verdict in _judged(names, task):
        assert verdict.place == 1, verdict
        assert verdict.right_ranks is not False, verdict
