"""Every part of the ablation is there to be switched off, and without one the table says so."""

from __future__ import annotations

import pytest
import torch

from builder.diagnosis.policies.by_excess import edges
from evaluation.ablation.__main__ import table
from evaluation.ablation.parts import BY_EXCESS, BY_SCORES, GAINS, Part
from evaluation.ablation.work import (
    Compared,
    Named,
    Said,
    Tally,
    _left,
    compared_case,
    decide,
    judged,
    tally_without,
)
from evaluation.zoo.suite import cases

PARTS = [*GAINS.items(), *BY_EXCESS.items(), *BY_SCORES.items()]


@pytest.mark.parametrize("parts", [p for _, p in PARTS], ids=[name for name, _ in PARTS])
def test_what_is_switched_off_exists(parts: list[Part]) -> None:
    assert all(hasattr(owner, attribute) for owner, attribute, _ in parts)


@pytest.fixture(scope="module")
def other_labels(tmp_path_factory: pytest.TempPathFactory) -> Compared:
    fault = next(
        case
        for case in cases(("statistics",))
        if case.name == "labels of the second step wrong" and case.problem.dtype == torch.float32
    )
    return compared_case(fault, tmp_path_factory.mktemp("recordings"))


def test_without_the_excess_of_edges_other_data_is_not_named(other_labels: Compared) -> None:
    assert tally_without((), [other_labels]) == Tally(faults=1, first=1, alone=1)
    parts = BY_EXCESS["edges"]
    assert parts[0][0] is edges.Edges
    assert tally_without(parts, [other_labels]).first == 0


def test_a_part_decides_where_it_says_something_else_than_what_stands_in(
    other_labels: Compared,
) -> None:
    edge, returned = BY_EXCESS["edges"][0], BY_EXCESS["gradients that a finding returned"][0]
    assert decide((edge, returned), [other_labels]) == [{edge}]


def _is(name: str) -> Named:
    return Named(0, name)


def _said(*names: str) -> list[Said]:
    return [Said(_is(name), ()) for name in names]


def test_all_faults_count_and_nothing_else_may_be_said() -> None:
    two = Compared("two", [], (lambda node: node.name == "a", lambda node: node.name == "b"))
    assert judged(two, _said("a", "b")) == Tally(faults=1, first=1, alone=1)
    assert judged(Compared("", []), [Said(_is("a"), (), heals=True)]) == Tally(controls=1)
    assert judged(two, [Said(_is("a"), (_is("b"),))]) == Tally(faults=1, first=1, alone=1)
    assert judged(two, _said("a", "b", "c")) == Tally(faults=1, first=1)
    assert judged(two, _said("c", "a", "b")) == Tally(faults=1)
    assert judged(two, []) == Tally(faults=1)


def test_what_is_said_of_a_sound_pair_is_an_alarm() -> None:
    assert judged(Compared("sound", []), []) == Tally(controls=1)
    assert judged(Compared("sound", []), _said("a", "b")) == Tally(controls=1, alarms=1)


def test_the_table_has_a_line_a_part_and_a_column_a_suite() -> None:
    column = {"nothing": Tally(2, 2, 1, 1, 0), "edges": Tally(2, 1, 0, 1, 1)}
    assert table({"nothing": [], "edges": []}, {"bugs": column}).splitlines() == [
        "| without | bugs |",
        "|---|---|",
        "| nothing | 2, 1 of 2; 0 of 1 |",
        "| edges | 1, 0 of 2; 1 of 1 |",
    ]


def test_rules_that_are_switched_off_together_are_all_off() -> None:
    one, other = (("a", "b"), ("b", "c"))
    assert _left(_left(("a", "b", "c"), one), other) == ("b",)
    assert _left({"a": 1, "b": 2}, {"b": 2}) == {"b": 2}
    assert _left(3.0, 1.0) == 1.0
