"""What a step inherits counts as propagated, or as rounding where nothing came before."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

import pytest

from builder.diagnosis.communication import Link
from builder.reasons import ArgumentDiffers, ExtraReplaced, InputDiffers
from builder.run.order import order_findings
from builder.work.outcome import PairOutcome, StoredFinding, StoredSighting

FIRST = StoredFinding(
    step=0,
    rank=0,
    graph=1,
    node=1,
    name="Torch.mm.0.forward",
    kind="introduced",
    is_api=True,
    sort_key=(0, 3),
    score=0.9,
    input_score=0.0,
    introduced=0.9,
    reasons=[],
    propagated_to=3,
)
WEIGHT: frozenset[Hashable] = frozenset([(1.0, 0.0, 0.5, 2.0)])
INHERITED = replace(
    FIRST, step=1, kind="parameter_differs", sort_key=(0, 1), propagated_to=5, inherits=WEIGHT
)


def outcome(step: int, *findings: StoredFinding, tolerated: bool = True) -> PairOutcome:
    left = WEIGHT if tolerated else frozenset()
    return PairOutcome(step, 0, findings=findings, tolerated=left)


def test_a_weight_that_an_earlier_finding_moved_counts_with_it() -> None:
    for tolerated in (True, False):
        found = order_findings([outcome(0, FIRST, tolerated=tolerated), outcome(1, INHERITED)], [])
        assert [(f.name, f.step, f.propagated_to) for f in found] == [(FIRST.name, 0, 3 + 5 + 1)]


def test_a_weight_that_rounding_moved_is_no_finding() -> None:
    assert order_findings([outcome(0), outcome(1, INHERITED)], []) == []


def test_a_weight_that_rounding_moved_is_none_while_no_optimizer_touches_it() -> None:
    later = replace(INHERITED, step=2)
    steps = [outcome(0), outcome(1, INHERITED, tolerated=False), outcome(2, later)]
    assert order_findings(steps, []) == []
    alone = [outcome(0), outcome(1, tolerated=False), outcome(2, later)]
    assert [f.step for f in order_findings(alone, [])] == [2]


def test_what_an_optimizer_makes_of_such_a_weight_is_none_either() -> None:
    moved: frozenset[Hashable] = frozenset([(1.5, 0.0, 0.5, 2.5)])
    later = replace(INHERITED, step=2, inherits=moved)
    steps = [outcome(0), outcome(1, replace(INHERITED, leaves=moved)), outcome(2, later)]
    assert order_findings(steps, []) == []
    else_moved = [outcome(0), outcome(1, INHERITED), outcome(2, later)]
    assert [f.step for f in order_findings(else_moved, [])] == [2]


def test_a_weight_that_nothing_moved_is_one() -> None:
    found = order_findings([outcome(0, tolerated=False), outcome(1, INHERITED)], [])
    assert [(f.step, f.kind) for f in found] == [(1, "parameter_differs")]


@pytest.mark.parametrize(("before", "steps"), [(0.2, [0]), (0.0, [0, 1])])
def test_what_grows_out_of_such_a_weight_counts_with_it(before: float, steps: list[int]) -> None:
    grown = replace(FIRST, step=1, name="VF.lstm.0.forward", input_score=before)
    found = order_findings([outcome(0, FIRST), outcome(1, grown)], [])
    assert [f.step for f in found] == steps


def test_a_node_that_is_named_twice_is_one_place() -> None:
    first = replace(FIRST, line="model.py", reasons=[ArgumentDiffers("input.1", "1", "2")])
    again, other = replace(first, sort_key=(0, 4)), replace(first, node=2, sort_key=(0, 5))
    (cause,) = order_findings([outcome(0, first, again, other, other)], [])
    assert [place.node for place in cause.places] == [2]


@pytest.mark.parametrize(
    ("step", "differs", "ranks"), [(1, True, [3]), (1, False, [3, 0]), (0, False, [3])]
)
def test_a_collective_hands_on_what_an_earlier_finding_of_another_rank_left(
    step: int, differs: bool, ranks: list[int]
) -> None:
    # Rank 3 is wrong in step 0; in step 1 its weights are, and rank 0 gets that by a collective.
    wrong = replace(FIRST, rank=3)
    name = "Distributed.all_reduce.0.forward"
    handed = replace(FIRST, step=step, graph=2, node=7, name=name, sort_key=(0, 9))
    links = [Link(7, 3, 9, "collective", differs), Link(7, 5, 8, "collective", True)]
    outcomes = [PairOutcome(0, 3, findings=(wrong,)), PairOutcome(step, 0, findings=(handed,))]
    assert [found.rank for found in order_findings(outcomes, [], links)] == ranks


UPDATE = replace(
    FIRST,
    rank=0,
    graph=2,
    node=9,
    name="Tensor.lerp_.0.forward",
    kind="input_differs",
    reasons=[InputDiffers("input.1", 0.9)],
    sort_key=(2, 30),
)


@pytest.mark.parametrize(
    ("update", "ranks"),
    [
        (UPDATE, [3]),
        (replace(UPDATE, reasons=[ArgumentDiffers("input.1", "1", "2")]), [3, 0]),
        (replace(UPDATE, sort_key=(1, 30)), [3, 0]),
        (replace(UPDATE, step=1), [3, 0]),
    ],
)
def test_gradients_that_a_wrapper_reduces_hand_on_what_another_rank_did(
    update: StoredFinding, ranks: list[int]
) -> None:
    """DistributedDataParallel calls no function of torch that is recorded."""
    wrong = replace(FIRST, rank=3, step=0)
    outcomes = [
        PairOutcome(0, 3, findings=(wrong,)),
        PairOutcome(update.step, 0, findings=(update,)),
    ]
    assert [found.rank for found in order_findings(outcomes, [])] == ranks


@pytest.mark.parametrize(
    ("node", "differs", "ranks"), [(5, True, [2]), (5, False, [0, 2]), (11, True, [0, 2])]
)
def test_a_collective_hands_on_what_a_rank_put_in_that_comes_to_it_later(
    node: int, differs: bool, ranks: list[int]
) -> None:
    """Rank 2 makes a call more, and so reaches the collective behind the ranks that it misleads."""
    name = "Distributed.all_reduce.0.forward"
    misled = replace(FIRST, step=0, rank=0, graph=1, node=3, name=name, sort_key=(0, 1))
    wrong = replace(FIRST, step=0, rank=2, graph=2, node=node, sort_key=(0, 2))
    links = [Link(3, 2, 9, "collective", differs)]
    outcomes = [PairOutcome(0, 0, findings=(misled,)), PairOutcome(0, 2, findings=(wrong,))]
    assert [found.rank for found in order_findings(outcomes, [], links)] == ranks


@pytest.mark.parametrize(("before", "basis"), [(0, "guessed"), (1, "called")])
def test_other_calls_that_came_to_the_same_in_a_step_before_are_not_certain(
    before: int, basis: str
) -> None:
    change = ("extra", "Torch.mm")
    node = StoredSighting(graph=1, node=9, name="Torch.mm.0.forward", sort_key=(0, 3), kinds=change)
    reason = ExtraReplaced("Torch.mm.0.forward", "Module.a.Linear.forward.0")
    found = replace(FIRST, step=1, reasons=[reason], line="model.py", kinds=change, basis="called")
    (cause,) = order_findings([PairOutcome(before, 1, sightings=(node,)), outcome(1, found)], [])
    assert [place.step for place in cause.places] == [before]
    assert cause.basis == basis
