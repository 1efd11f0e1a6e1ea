"""Numbers of micro-batches where a stage ran once more than it has micro-batches."""

from __future__ import annotations

from pathlib import Path

from builder.dump.reader import Dump
from builder.dump.values import Values
from builder.ranks.assembly.alignment import calls_of
from builder.ranks.assembly.peers import micro_batches_of
from builder.ranks.layout.coordinates import Place, RunLayout
from builder.ranks.layout.names import LogicalNames
from builder.ranks.layout.schedule import number_micro_batches

_STAGE = RunLayout({"pp": 2}, {0: Place(0, {"pp": 0})})
_ALONE = RunLayout({}, {0: Place(0, {})})
_UP = "Module.up.Linear"


def _dump(calls: int, gradients: int) -> Dump:
    """Calls of one module with a call inside, the loss behind each, and gradients."""
    parents: dict[str, str | None] = {}
    for number in range(calls):
        parents[f"Functional.linear.{number}.forward"] = f"{_UP}.forward.{number}"
        parents[f"{_UP}.forward.{number}"] = None
        parents[f"Functional.mse_loss.{number}.forward"] = None
        parents[f"Functional.mse_loss.{number}.backward"] = None
        parents[f"{_UP}.backward.{number}"] = None
    names = [*parents, *(f"{_UP}.parameters_grad.{number}" for number in range(gradients))]
    ranges = dict.fromkeys(names, (0, 0))
    return Dump(Path("d"), "statistics", "mix", "pytorch", Values(), ranges, parents, {}, {}, [])


def _micro_batches(dump: Dump) -> dict[str, int]:
    names = LogicalNames(_STAGE.places[0], _STAGE, {})
    return {call.name: call.micro for call in calls_of(dump, names, 0, 2)}


def test_recorded_numbers_leave_the_dry_run_out_and_what_stands_behind_it() -> None:
    dump = _dump(3, 2)
    dump.micro_batch = {f"{_UP}.forward.0": None, f"{_UP}.forward.1": 0, f"{_UP}.forward.2": 1}
    found = _micro_batches(dump)
    assert not any(".0." in name or name.endswith(".0") for name in found if "_grad" not in name)
    assert found["Functional.linear.1.forward"] == found[f"{_UP}.forward.1"] == 0
    assert found["Functional.mse_loss.2.forward"] == found[f"{_UP}.backward.2"] == 1
    assert micro_batches_of({0: dump}, _STAGE) == 2


def test_numbers_follow_where_gradients_came_once_less_than_calls() -> None:
    dump = _dump(3, 2)
    number_micro_batches({0: dump}, _STAGE)
    assert dump.micro_batch == {
        f"{_UP}.forward.0": None,
        f"{_UP}.forward.1": 0,
        f"{_UP}.forward.2": 1,
    }


def test_nothing_is_dry_without_stages_or_where_one_call_may_be_recomputation() -> None:
    alone, recomputed, plain = _dump(3, 2), _dump(2, 1), _dump(2, 2)
    number_micro_batches({0: alone}, _ALONE)
    number_micro_batches({0: recomputed}, _STAGE)
    number_micro_batches({0: plain}, _STAGE)
    assert alone.micro_batch == recomputed.micro_batch == plain.micro_batch == {}
    assert len(_micro_batches(plain)) == len(plain.parents) + 1  # the last gradient of two
