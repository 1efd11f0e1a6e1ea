"""A sample of the suite runs with the other tests; `make zoo` runs the whole of it."""

from __future__ import annotations

import pytest
import torch

from evaluation.zoo.suite import Verdict, cases, judge

SAMPLE = {
    ("gpt", "silu became gelu"),
    ("bert", "residual doubled"),
    ("convolution", "root of negative numbers"),
    ("vision", "causal mask added"),
    ("bert", "sequence moved by one"),
    ("gpt", "other kernels, fp32"),
    ("mixture", "other kernels, fp32"),
}


@pytest.fixture(scope="module")
def verdicts() -> list[Verdict]:
    listed = [
        case
        for case in cases(("statistics",))
        if (case.architecture, case.name) in SAMPLE and case.problem.dtype == torch.float32
    ]
    assert len(listed) == len(SAMPLE)
    return list(judge(listed, 2))


def test_every_case_could_be_run(verdicts: list[Verdict]) -> None:
    assert [verdict.error for verdict in verdicts if verdict.error] == []


def test_culprits_are_named_first(verdicts: list[Verdict]) -> None:
    faults = [verdict for verdict in verdicts if verdict.case.fault is not None]
    assert {v.case.name: v.place for v in faults} == {v.case.name: 1 for v in faults}


def test_culprits_stand_alone(verdicts: list[Verdict]) -> None:
    faults = [verdict for verdict in verdicts if verdict.case.fault is not None]
    assert {v.case.name: len(v.findings) for v in faults} == {v.case.name: 1 for v in faults}


def test_controls_are_left_alone(verdicts: list[Verdict]) -> None:
    controls = [verdict for verdict in verdicts if verdict.case.fault is None]
    assert {v.case.architecture: v.findings for v in controls} == {"gpt": (), "mixture": ()}


def test_suite_is_as_large_as_it_says() -> None:
    listed = cases(("statistics",))
    faults = {(case.architecture, case.name) for case in listed if case.fault is not None}
    controls = [case for case in listed if case.fault is None]
    assert len(faults) >= 40
    assert len({architecture for architecture, _ in faults}) >= 6
    assert len(controls) >= 12
    misplaced = {case.name for case in listed if case.kind == "order"}
    twins = {case.name.removeprefix("right: ") for case in controls}
    assert len(misplaced) >= 12 and misplaced <= twins
    kinds = {case.kind for case in listed}
    assert kinds >= {
        *("forward", "backward", "optimizer", "data", "parameter"),
        *("dtype", "mask", "missing", "extra", "nan", "control"),
    }
