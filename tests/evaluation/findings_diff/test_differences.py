"""The gravest change of a pair is what it is listed under."""

from __future__ import annotations

from typing import Any

import pytest

from evaluation.findings_diff.differences import difference, judge, tally
from tests.right_answers import among

WRONG = "Torch.add.3.forward"
RIGHT = "Torch.linear.0.forward"
OTHER = "Module.norm.LayerNorm.forward.0"
FAULTS = (among({(0, RIGHT)}),)


def _finding(node: str, **told: Any) -> dict[str, Any]:
    plain = {"step": 0, "rank": 0, "reasons": ["differs"], "propagated_to": 1, "places": []}
    return {"node": node, "heals": False, **plain, **told}


def _answer(*nodes: str) -> dict[str, Any]:
    return {"title": "a pair", "refusal": None, "findings": [_finding(n) for n in nodes]}


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ((RIGHT,), (), "lost"),
        ((RIGHT, WRONG), (WRONG, RIGHT), "lost"),
        ((RIGHT,), (RIGHT, WRONG), "alarm"),
        ((), (RIGHT,), "gained"),
        ((WRONG, RIGHT), (RIGHT, WRONG), "gained"),
        ((RIGHT, WRONG), (RIGHT,), "calmer"),
        ((RIGHT, WRONG), (RIGHT, OTHER), "elsewhere"),
    ],
)
def test_a_change_is_of_its_kind(
    before: tuple[str, ...], after: tuple[str, ...], kind: str
) -> None:
    found = difference("a pair", _answer(*before), _answer(*after), FAULTS)
    assert found is not None
    assert found.kind == kind


def test_equal_answers_do_not_differ() -> None:
    assert difference("a pair", _answer(RIGHT), _answer(RIGHT), FAULTS) is None


def test_another_figure_in_a_sentence_is_worded() -> None:
    old, new = _answer(RIGHT), _answer(RIGHT)
    new["findings"][0]["propagated_to"] = 2
    found = difference("a pair", old, new, FAULTS)
    assert found is not None
    assert found.kind == "worded"


def test_an_error_is_the_gravest() -> None:
    failed = {"title": "a pair", "error": "KeyError: 'x'"}
    found = difference("a pair", _answer(), failed, FAULTS)
    assert found is not None
    assert (found.kind, tally([found])) == ("failed", "1 failed")


def test_a_repeat_names_a_fault_but_is_no_first() -> None:
    answer = {
        "title": "a pair",
        "findings": [_finding(WRONG, places=[{"step": 0, "rank": 0, "node": RIGHT}])],
    }
    judged = judge(answer, FAULTS)
    assert (judged.first, judged.named, judged.wrong) == (False, 1, 1)


def test_a_finding_that_heals_is_no_alarm() -> None:
    answer = {"title": "a pair", "findings": [_finding(WRONG, heals=True)]}
    assert judge(answer, ()).wrong == 0
