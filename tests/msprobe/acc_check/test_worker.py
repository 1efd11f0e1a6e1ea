"""What a worker says of calls that go wrong in ways nobody thought of."""

from __future__ import annotations

from multiprocessing import Pipe
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from msprobe.acc_check import call_check, worker
from msprobe.acc_check.rows import CallRow
from msprobe.acc_check.worker import Ready, Setup, work
from tests.msprobe.acc_check.calls import sample_calls


def answered(setup: Setup, name: str, monkeypatch: pytest.MonkeyPatch) -> CallRow:
    """One call worked on in a thread: signals belong to the main one."""
    monkeypatch.setattr(worker.signal, "signal", lambda *_: None)
    ours, theirs = Pipe()
    thread = Thread(target=work, args=(theirs, 0, setup), daemon=True)
    thread.start()
    assert isinstance(ours.recv(), Ready)
    ours.send(sample_calls()[name])
    row = ours.recv()
    ours.close()
    thread.join(10)
    assert isinstance(row, CallRow)
    return row


def test_defect_of_ours_costs_one_call_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr(call_check, "judge_integers", broken)
    row = answered(Setup(devices=("cpu",)), "Tensor.__gt__.0", monkeypatch)
    assert row.forward == "SKIP"
    assert "ZeroDivisionError: a defect; please report this" in row.message


def test_folder_that_cannot_be_written_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("no folder")
    setup = Setup(devices=("cpu",), standard="binary", error_data=tmp_path / "file" / "below")
    row = answered(setup, "Functional.gelu.0", monkeypatch)
    assert row.forward == "error"
    assert "its data could not be kept in" in row.message


@pytest.mark.parametrize("standard", ["msprobe", "absolute", "ulp", "thousandth"])
def test_former_standards_decide_by_option(monkeypatch: pytest.MonkeyPatch, standard: Any) -> None:
    row = answered(Setup(devices=("cpu",), standard=standard), "Functional.gelu.0", monkeypatch)
    assert {value.message for value in row.values} == {f"by the {standard} standard"}
    assert row.forward in ("pass", "error")


def test_what_the_standard_does_not_look_at_is_blank(monkeypatch: pytest.MonkeyPatch) -> None:
    row = answered(Setup(devices=("cpu",)), "Functional.gelu.0", monkeypatch)
    for value in row.values:
        assert "误差均衡性" in value.measures
        assert not {"ULP误差最大值", "相对误差错误率", "inf/nan错误率"} & value.measures.keys()
