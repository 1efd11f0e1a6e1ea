"""Rules of the walk by scores on the smallest program in which they decide, without sketches."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor

from builder.diagnosis.policies.by_scores import score_policy
from evaluation.ablation.parts import rules_of, without_rule
from evaluation.parallel.strip import strip
from tests.builder.diagnosis.policies import test_excess_rules as programs
from tests.builder.diagnosis.policies.test_excess_rules import (
    Net,
    Runs,
    both,
    inside,
    repeating,
    said,
)


class WrongWeight(Net):
    def prepare(self) -> None:
        if self.wrong:
            self.put.weight.data[3] *= 1.5


class OtherIndices(Net):
    def between(self, x: Tensor) -> Tensor:
        places = torch.arange(16).flip(0) if self.wrong else torch.arange(16)
        return x[:, places] * 1.0


# By list and rule: the two runs, and what is named first.
FIXTURES: dict[tuple[str, str], tuple[Runs, str]] = {
    ("INPUTS", "reads_what_a_finding_made"): (repeating(gate=True), "Tensor.__mul__.6.forward"),
    ("INPUTS", "reads_a_wrong_parameter"): (both(WrongWeight), "Module.put.Linear.forward.0"),
    ("INPUTS", "follows_a_changed_call"): (
        both(programs.MadeByOneRun),
        "Tensor.__mul__.0.forward",
    ),
    ("INPUTS", "was_fed_other_data"): (both(programs.OtherData), "Functional.linear.0.forward"),
    ("INPUTS", "follows_the_latest_finding"): (both(programs.FarAway), "Tensor.__mul__.0.forward"),
    ("INPUTS", "differs_unexplained"): (both(programs.Rewired), "Torch.exp.0.forward"),
    ("OUTPUTS", "contains_a_finding"): (both(OtherIndices), "Tensor.flip.0.forward"),
    ("OUTPUTS", "has_another_argument"): (
        both(programs.OtherArgument),
        "Functional.gelu.0.forward",
    ),
    ("OUTPUTS", "grew_out_of_a_finding"): (
        both(programs.CastForwards),
        "Functional.linear.1.forward",
    ),
    ("OUTPUTS", "follows_a_changed_call"): (
        inside(programs.leaky),
        "Functional.leaky_relu.0.forward",
    ),
    ("OUTPUTS", "introduces_a_difference"): (
        inside(programs.scaled_unseen),
        "Module.inner.Inner.forward.0",
    ),
}
# Of the suite of seeded bugs, as msprobe records it (`make ablation`, by scores): a fault in which
# the rule decides what is said. Where elements are seen docs/draw_rules.py draws moved ones.
IN_THE_SUITE = {
    ("INPUTS", "contains_a_finding"): "data positions shifted by one",
    ("INPUTS", "comes_from_a_wrong_loss"): "forward experts overwrite each other",
    ("INPUTS", "reads_moved_elements"): "order",
    ("OUTPUTS", "comes_from_a_wrong_forward"): "forward mean instead of class token",
    ("OUTPUTS", "reads_behind_a_mask"): "forward rope base 1000",
    ("OUTPUTS", "begins_within_the_tolerance"): "tests/builder/diagnosis/test_walk.py",
}


def test_every_rule_has_a_place_where_it_decides() -> None:
    rules = rules_of(score_policy).items()
    listed = {(name.removeprefix("RULES_FOR_"), r.__name__) for name, every in rules for r in every}
    assert listed == {*FIXTURES, *IN_THE_SUITE}


@pytest.mark.parametrize(("listed", "rule"), FIXTURES, ids=lambda name: name)
def test_a_rule_decides_in_its_fixture(tmp_path: Path, listed: str, rule: str) -> None:
    record, first = FIXTURES[listed, rule]
    runs = record(tmp_path)
    for run in runs:
        strip(run, "peer")
    off = [part for part in without_rule(score_policy, rule) if part[1] == f"RULES_FOR_{listed}"]
    found = said(tmp_path / "with", runs, [])
    assert found[0][0] == first
    assert said(tmp_path / "without", runs, off) != found
