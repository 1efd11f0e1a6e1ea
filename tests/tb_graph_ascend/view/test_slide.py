"""The picture of the answer says all of its sentence, in numbers that people read."""

from __future__ import annotations

import pytest

from builder.results.records import Reason
from tb_graph_ascend.view.slide import worded


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ({"name": "loss", "number": 0.08838834764831845}, "out: loss 0.08839"),
        ({"name": "loss", "number": "0.08838834764831845"}, "out: loss 0.08839"),
        ({"name": "loss", "number": 3}, "out: loss 3"),
    ],
)
def test_numbers_have_four_digits(reason: Reason, said: str) -> None:
    assert worded({"code": "measure", "value": "out", **reason}) == said


def test_numbers_that_four_digits_would_make_equal_have_as_many_as_tell_them_apart() -> None:
    reason: Reason = {"code": "attribute_differs", "value": "input.1", "attribute": "value"}
    said = worded({**reason, "problem": "1.0000012345678", "benchmark": "1.0000019345678"})
    assert "1.000001 here and 1.000002" in said


def test_a_sentence_that_rounds_itself_still_does() -> None:
    said = worded({"code": "norm_error_grows", "value": "output.0", "error": 0.123456789})
    assert said.startswith("output.0: relative error of the norm 0.123,")
