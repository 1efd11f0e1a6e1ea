"""What moves nothing is an alert, and what has one cause is one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn

from builder.series.alert_causes import one_a_cause
from msprobe_core.format.alerts import Alert, question, sentence
from tests.msprobe.pytorch.alert_programs import Fault, tabular, textual

AT = 100
Program = Callable[[Path, Fault], list[Alert]]
both = pytest.mark.parametrize("program", [tabular, textual])


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def shrinking(alone: bool) -> Callable[[int, nn.Module], None]:
    """Gradients that are a tenth less each step, of all parameters or of the first."""

    def change(step: int, model: nn.Module) -> None:
        for place, each in enumerate(model.parameters()):
            if step >= AT and each.grad is not None and not (alone and place):
                each.grad *= 0.9 ** (step - AT)

    return change


STILL = {
    "a rate of 0": (Fault(rate=lambda step: 0.0), 15, "lr group0"),
    "a rate that becomes 0": (Fault(rate=lambda step: float(step < AT)), AT + 15, "lr group0"),
    "updates below the format": (
        Fault(rate=lambda step: 1e-9 if step >= AT else 1.0),
        AT + 15,
        "ratio ",
    ),
    "all steps are skipped": (Fault(skips=lambda step: step >= AT), AT + 15, "skipped skipped"),
}


@both
@pytest.mark.parametrize("name", STILL)
def test_a_training_that_moves_nothing_is_one_alert(
    name: str, program: Program, tmp_path: Path
) -> None:
    fault, step, target = STILL[name]
    (alert,) = program(tmp_path, fault)
    assert (alert.step, alert.kind) == (step, "still")
    assert " ".join(alert.target).startswith(target)
    assert "no weight moves" in sentence(alert)


@both
@pytest.mark.parametrize("alone", [False, True])
def test_gradients_that_shrink_by_a_tenth_a_step_are_one_alert(
    alone: bool, program: Program, tmp_path: Path
) -> None:
    (alert,) = program(tmp_path, Fault(gradients=shrinking(alone)))
    assert alert.kind == "fades"
    assert AT + 16 <= alert.step <= AT + 64
    assert alert.target[0] == "grad"


@both
def test_few_skipped_steps_are_none(program: Program, tmp_path: Path) -> None:
    assert program(tmp_path, Fault(skips=lambda step: AT <= step < AT + 8)) == []


@both
def test_a_loss_and_a_rate_ten_times_as_large_are_said_together(
    program: Program, tmp_path: Path
) -> None:
    def more(step: int) -> float:
        return 10.0 if step >= AT else 1.0

    first = program(tmp_path, Fault(loss=more, rate=more))[0]
    assert (first.step, first.kind, first.target) == (AT, "jump", ("loss", "loss"))
    assert first.lr == pytest.approx(10)
    assert "learning rate" in question(first)


@pytest.mark.parametrize("every", [20, 37])
def test_what_comes_again_and_again_is_one_alert_with_its_distance(
    every: int, tmp_path: Path
) -> None:
    def spoil(step: int, x: torch.Tensor) -> None:
        if step % every == every - 1:
            x.mul_(40)

    (alert,) = tabular(tmp_path, Fault(batch=spoil))
    assert (alert.step, alert.every) == (every - 1, every)
    assert f"every {every} steps, {260 // every} times" in sentence(alert)


def test_an_embedding_that_blows_up_once_is_one_alert(tmp_path: Path) -> None:
    def blow(step: int, model: nn.Module) -> None:
        if step == AT:
            with torch.no_grad():
                model.emb.weight.mul_(100)  # type: ignore[operator, union-attr]

    (alert,) = textual(tmp_path, Fault(weights=blow))
    assert (alert.step, alert.target) == (AT + 1, ("actv", "emb"))


def alert(step: int, name: str = "a.fc", rank: int = 0, kind: str = "jump") -> Alert:
    return Alert(step, kind, ("grad", name), 8.0, rank=rank)


def test_replicas_are_one_alert_that_names_their_ranks() -> None:
    (one,) = one_a_cause([alert(50, rank=rank) for rank in range(4)])
    assert (one.step, one.ranks, one.again) == (50, [0, 1, 2, 3], [])


def test_one_rank_of_four_keeps_its_own() -> None:
    found = one_a_cause([alert(50, rank=0), alert(90, "b.out", rank=2)])
    assert [(each.step, each.rank, each.ranks) for each in found] == [(50, 0, []), (90, 2, [])]


def test_the_same_place_again_within_two_windows_is_an_after_effect() -> None:
    (one,) = one_a_cause([alert(100, "emb.weight"), alert(184, "emb.weight")])
    assert one.again == [184]
    assert sentence(one).endswith("; again at step 184")


@pytest.mark.parametrize(
    "others",
    [
        [alert(184, "head.weight")],
        [alert(300, "emb.weight")],
        [alert(184, "emb.weight", kind="drift")],
    ],
)
def test_another_place_kind_or_time_is_another_cause(others: list[Alert]) -> None:
    assert len(one_a_cause([alert(100, "emb.weight"), *others])) == 2


def test_a_rhythm_is_told_though_the_place_is_another_each_time() -> None:
    steps = [40, 240, 440, 641, 840]
    found = one_a_cause([alert(step, f"layer{step}.fc") for step in steps])
    assert [(each.step, each.every, each.again) for each in found] == [(40, 200, steps[1:])]


def test_three_alerts_without_a_rhythm_stay_three() -> None:
    found = one_a_cause([alert(step, f"layer{step}.fc") for step in (40, 190, 555)])
    assert [each.every for each in found] == [None] * 3
