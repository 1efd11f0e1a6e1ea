"""What sentences make of their numbers."""

from __future__ import annotations

import pytest

from builder.reasons import SENTENCES, Reason, apart, percent, sentence


@pytest.mark.parametrize(
    ("share", "shown"),
    [
        (0.5, "50.0%"),
        (0.001, "0.1%"),
        (8.2e-5, "0.0082%"),
        (9.99, "999.0%"),
        (40.0, "40 times the benchmark"),
        (999.9, "1 thousand times the benchmark"),
        (3.06e9, "3.1 billion times the benchmark"),
        (2.0e20, "2.0e+20 times the benchmark"),
    ],
)
def test_a_share_is_neither_rounded_away_nor_thirteen_digits_long(share: float, shown: str) -> None:
    assert apart(share) == shown
    said = sentence({"code": "explained", "value": "output.0", "apart": share, "explained": 0.0})
    assert said == f"output.0 is off by {shown}, and nothing before it explains that"
    assert percent(0.0) == "0.0%"


def test_an_estimate_is_about_and_a_measured_number_is_not() -> None:
    evidence: Reason = {"code": "explained", "value": "output.0", "apart": 0.3, "explained": 0.03}
    assert sentence(evidence).startswith("output.0 is off by 30.0%, and what differs before it")
    assert sentence(evidence).endswith("explains 10.0% of that")
    assert "by about 30.0%" in sentence({**evidence, "of": "sketch"})
    assert "about" not in sentence({**evidence, "of": "elements"})
    assert sentence({**evidence, "of": "norm"}).startswith("the norm of output.0 is off by 30.0%")
    assert sentence({**evidence, "explained": 1e-6}).endswith("less than 1% of that")
    noted: Reason = {"code": "elements_differ", "value": "input.0", "error": 0.3}
    assert "by about" in sentence(noted)
    assert "about" not in sentence({**noted, "of": "elements"})


def test_a_value_of_another_call_says_whose_it_is() -> None:
    evidence: Reason = {"code": "explained", "value": "input.0", "apart": 0.3, "explained": 0.0}
    said = sentence({**evidence, "at": "Torch.lerp_.0.forward", "of": "sketch"})
    assert said.startswith("input.0 of Torch.lerp_.0.forward is off by about 30.0%")


def test_sentences_for_what_a_number_is_of_belong_to_one_without() -> None:
    kinds = ("sketch", "elements", "norm", "mean", "max", "min")
    own = [code.rpartition("_") for code in SENTENCES if code.endswith(kinds)]
    assert {code for code, _, kind in own if kind in kinds} <= SENTENCES.keys()
