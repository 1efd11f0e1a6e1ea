"""Numbers of two runs beside each other show how far they are apart."""

from __future__ import annotations

import pytest

from builder.reasons import ArgumentDiffers, sentence
from builder.reasons.beside import arguments_beside, beside, rounded


@pytest.mark.parametrize(
    ("one", "other", "shown"),
    [
        (0.5, 0.25, ("0.5", "0.25")),
        (0.99999, 1.0, ("0.99999", "1")),
        (0.9999, 0.999995, ("0.9999", "0.99999")),
        (1e-9, 0.5, ("1e-9", "0.5")),
        (1234.4, 1250.6, ("1234", "1251")),
        (0.99999, 0.999999, ("0.99999", "0.999999")),
        (31.98764, 31.9871, ("31.9876", "31.9871")),
        (1e6, 1e6 + 1, ("1e6", "1.000001e6")),
        (12.34567, 12.34567, ("12.35", "12.35")),
        (float("nan"), 0.123456, ("nan", "0.1235")),
        (0.1 + 0.2, 0.3, ("0.30000000000000004", "0.3")),
    ],
)
def test_as_many_digits_as_show_the_difference(
    one: float, other: float, shown: tuple[str, str]
) -> None:
    assert beside(one, other) == shown
    assert beside(other, one) == shown[::-1]


def test_numbers_round_to_what_they_say() -> None:
    told = [
        rounded(number, 4) for number in (0.0, -2.0, 123456.789, 999999.9, 0.00012345, 0.0999999)
    ]
    assert told == ["0", "-2", "1.235e5", "1e6", "1.234e-4", "0.1"]


@pytest.mark.parametrize(
    ("problem", "benchmark", "shown"),
    [
        ("-0.009999900000000003", "-0.010000000000000002", ("-0.0099999", "-0.01")),
        ("0.00099999", "0.001", ("9.9999e-4", "0.001")),
        ("0.08838834764831845", "None", ("0.08839", "None")),
        ("1.0", "True", ("1.0", "True")),
        ("4294967296", "4294967297", ("4294967296", "4294967297")),
    ],
)
def test_arguments_are_told_as_given_where_that_is_short(
    problem: str, benchmark: str, shown: tuple[str, str]
) -> None:
    assert arguments_beside(problem, benchmark) == shown
    reason = ArgumentDiffers("alpha", problem, benchmark)
    assert f"is {shown[0]} here and {shown[1]} in" in sentence(reason)
    assert f"问题侧为 {shown[0]}，在标杆侧为 {shown[1]}" in sentence(reason, "zh")
