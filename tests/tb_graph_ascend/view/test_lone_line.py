"""Of a helper's call that one run alone makes, the line that the other run lacks is named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

import builder
from builder.dump.stack_frames import SourceLine, is_line_alone, lines_by_code
from builder.results.database import ResultDatabase
from msprobe.pytorch import PrecisionDebugger
from tb_graph_ascend.view.answer import answer
from tb_graph_ascend.view.slide import slide

Loss = Callable[[Tensor], Tensor]


class _Shifted:
    def loss(self, x: Tensor) -> Tensor:
        return self.labels(x).sum()

    def labels(self, x: Tensor) -> Tensor:
        kept = x.abs()
        return kept + x.amax()


class _Unshifted(_Shifted):
    def labels(self, x: Tensor) -> Tensor:
        return x.abs()


class _Twice(_Shifted):
    def loss(self, x: Tensor) -> Tensor:
        return self.labels(self.labels(x)).sum()


class _Bare(_Shifted):
    def loss(self, x: Tensor) -> Tensor:
        return x.abs().sum()


def recorded(folder: Path, loss: Loss) -> Path:
    torch.manual_seed(0)
    debugger = PrecisionDebugger(dump_path=str(folder), level="L1")
    with debugger.recording():
        loss(torch.rand(16) + 1)
    debugger.close()
    return folder


@pytest.mark.parametrize(
    ("ours", "theirs", "named"),
    [
        (_Unshifted().loss, _Shifted().loss, "labels"),  # its line is missing here
        (_Shifted().loss, _Unshifted().loss, "labels"),  # and is missing there
        (_Twice().loss, _Shifted().loss, "loss"),  # both have its line: one calls it once more
        (_Shifted().loss, _Bare().loss, "loss"),  # nothing tells what the other has in it
    ],
)
def test_the_line_that_one_run_lacks_is_named(
    tmp_path: Path, ours: Loss, theirs: Loss, named: str
) -> None:
    dumps = recorded(tmp_path / "a", ours), recorded(tmp_path / "b", theirs)
    path = builder.build(*dumps, tmp_path / "o").path
    database = ResultDatabase(path)
    said = answer(database)
    assert said.causes[0].finding.node.match is None
    assert said.causes[0].finding.line_alone is (named == "labels")
    lines = {line.function for line in _lines(path)}
    assert lines == {"labels", "loss"}  # both lines stay in sight
    assert f">It begins in {named} (" in slide(database, said)
    database.close()


def _lines(path: Path) -> list[SourceLine]:
    first = builder.diagnose(path).facts()[0]
    return [line for line in (first.source, first.called_from) if line is not None]


Frame = tuple[int, str, str]
MAIN = (9, "main", "run(scaled)")


def _stack(*frames: Frame) -> str:
    return "\n".join(f"File /job/run.py, line {n}, in {at}, {code}" for n, at, code in frames)


def _is_alone(stack: str, own: list[str], others: list[str]) -> bool:
    return is_line_alone(stack.splitlines(), lines_by_code([stack, *own]), lines_by_code(others))


def test_functions_without_a_name_are_no_others() -> None:
    theirs = [_stack((4, name, "x * 2"), MAIN) for name in ("scaled", "<lambda>")]
    assert _is_alone(_stack((4, "scaled", "x * 3"), MAIN), [], theirs)
    assert not _is_alone(_stack((4, "scaled", "x  *  2"), MAIN), [], theirs)
    assert not _is_alone(_stack((4, "<lambda>", "x * 3"), MAIN), [], theirs)
    assert not _is_alone(_stack((4, "other", "x * 3"), MAIN), [], theirs)
    assert not _is_alone(_stack((4, "scaled", ""), MAIN), [], theirs)  # code that was not recorded
    assert not _is_alone("", [], theirs)


def test_a_line_that_stands_twice_in_one_run_alone_is_told_from_a_second_call() -> None:
    first, second = _stack((4, "scaled", "x * 2"), MAIN), _stack((6, "scaled", "x * 2"), MAIN)
    assert _is_alone(second, [first], [first])
    assert not _is_alone(second, [first], [first, second])
    called = _stack((6, "scaled", "x * 2"), (10, "main", "run(scaled, twice=True)"))
    assert not _is_alone(called, [first], [first])  # it is called otherwise
