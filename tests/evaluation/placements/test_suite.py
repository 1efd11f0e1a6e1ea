"""A share of `make placements`: eight rules, each fault named first, its right twin left alone."""

from __future__ import annotations

import pytest

from evaluation.placements.families import CASES
from evaluation.placements.suite import judge_one

_BY_NAME = {case.name: case for case in CASES}
_CHOSEN = (
    "one_gradient_summed_twice",
    "experts_averaged_over_all",
    "replicas_of_shards_drift",
    "bias_on_every_process",
    "sum_over_the_replicas",
    "one_layer_left_whole",
    "noise_of_each_router",
    "flat_shards_clipped_alone",
)


def test_every_case_has_a_name_of_its_own() -> None:
    assert len(_BY_NAME) == len(CASES)


@pytest.mark.parametrize("name", _CHOSEN)
def test_a_fault_is_named_first_and_its_right_twin_left_alone(name: str) -> None:
    fault = judge_one(_BY_NAME[name], True, "float32")
    assert fault.answer == "first", fault.said
    sound = judge_one(_BY_NAME[name], False, "float32")
    assert sound.answer == "silent", sound.said


@pytest.mark.parametrize("name", ["norms_divided_twice", "no_gradient_of_an_input_is_summed"])
def test_bfloat16_rounds_no_finding_away_and_makes_none(name: str) -> None:
    assert judge_one(_BY_NAME[name], True, "bfloat16").answer == "first"
    assert judge_one(_BY_NAME[name], False, "bfloat16").answer == "silent"


def test_a_fault_is_named_first_against_its_right_twin_of_the_same_layout() -> None:
    """One parameter is no step of the optimizer, though the layout leaves no other whole."""
    case = _BY_NAME["one_module_not_wrapped"]
    fault = judge_one(case, True, "float32", "same")
    assert fault.answer == "first", fault.said
    assert fault.said[0].startswith("Module.embedding.Embedding.parameters_grad.0")
    assert judge_one(case, False, "float32", "same").answer == "silent"
