"""Processes survive many calls, and a broken call costs that call alone."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from builder.errors import InputError
from msprobe.acc_check.pool import Pool
from msprobe.acc_check.worker import Setup
from tests.msprobe.acc_check.calls import sample_calls
from tests.msprobe.acc_check.fragile import ENDING, HANGING, broken, fragile_work


@pytest.fixture
def pool() -> Iterator[Pool]:
    made = Pool(Setup(devices=("cpu",)), 2, 15.0, fragile_work)
    yield made
    made.close()


def test_call_that_ends_or_hangs_the_process_is_a_row_and_all_others_are_run(pool: Pool) -> None:
    right = list(sample_calls().values())[:6]
    calls = [*right[:2], broken(ENDING), *right[2:4], broken(HANGING), *right[4:]]
    assert pool.pair == "cpu against CPU in float64"
    rows = {row.name: row for row in pool.rows(calls)}
    assert rows.keys() == {call.name for call in calls}
    assert {rows[call.name].forward for call in right} == {"pass"}
    ended, hung = rows[f"Torch.{ENDING}.0"], rows[f"Torch.{HANGING}.0"]
    assert (ended.forward, hung.forward) == ("error", "error")
    assert "died of SIGABRT" in ended.message
    assert "not done after 15 s" in hung.message


def test_more_processes_than_calls_and_no_calls_at_all(pool: Pool) -> None:
    assert list(pool.rows([])) == []
    (call,) = list(sample_calls().values())[:1]
    assert [row.name for row in pool.rows([call])] == [call.name]
    assert [row.name for row in pool.rows([call])] == [call.name]  # the same processes again


def test_device_that_cannot_be_used_is_refused() -> None:
    refused = Pool(Setup(devices=("cuda:99",)), 1, 15.0)
    try:
        with pytest.raises(InputError, match="device cuda:99: cannot be used here"):
            _ = refused.pair
    finally:
        refused.close()


def test_nothing_is_left_running() -> None:
    made = Pool(Setup(devices=("cpu",)), 1, 15.0)
    list(made.rows(list(sample_calls().values())[:1]))
    pid = made._workers[0]._process.pid
    assert pid is not None
    made.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
