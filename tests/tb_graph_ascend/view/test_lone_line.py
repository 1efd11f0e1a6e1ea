"""Of a helper's call that one run alone makes, the line that the other run lacks is named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

import builder
from builder.dump.stack_frames import SourceLine, codes_by_function, is_line_alone
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


def test_functions_without_a_name_are_no_others() -> None:
    def stack(function: str, code: str) -> str:
        return f"File /job/run.py, line 4, in {function}, {code}\nFile /job/run.py, line 9, in main"

    theirs = codes_by_function([stack("scaled", "x * 2"), stack("<lambda>", "x * 2")])
    assert is_line_alone(stack("scaled", "x * 3").splitlines(), theirs)
    assert not is_line_alone(stack("scaled", "x  *  2").splitlines(), theirs)
    assert not is_line_alone(stack("<lambda>", "x * 3").splitlines(), theirs)
    assert not is_line_alone(stack("main", "y = f(x)").splitlines(), theirs)  # no code of it there
    assert not is_line_alone(stack("other", "x * 3").splitlines(), theirs)
    assert not is_line_alone([], theirs)
