"""The user's own options reach torch.compile; what torch cannot compile is told as torch's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from msprobe.cli import main
from msprobe.compile_check import Case, check_compilation
from msprobe.compile_check.options import Compilation
from msprobe.errors import CheckError

CASE = """
import torch

class Broken(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(4, 4)

    def forward(self, x):
        x = self.fc(x)
        torch._dynamo.graph_break()
        return x.relu()

def compile_check():
    return Broken(), torch.ones(2, 4)
"""


@pytest.fixture(autouse=True)
def _fresh_dynamo() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


@pytest.mark.parametrize(("dynamic", "symbolic"), [(True, True), (False, False)])
def test_shapes_are_as_dynamic_as_is_asked(dynamic: bool, symbolic: bool) -> None:
    seen: list[bool] = []

    def backend(graph: Any, inputs: list[Any]) -> Any:
        seen.append(any(isinstance(each, torch.SymInt) for each in inputs))
        return graph.forward

    Compilation(backend, dynamic=dynamic).compiled(nn.Tanh())(torch.ones(3, 5))
    assert seen == [symbolic]


def test_a_mode_is_inductors_alone() -> None:
    with pytest.raises(CheckError, match="only inductor has modes"):
        Compilation("aot_eager", mode="max-autotune").compiled(nn.Tanh())


def test_a_break_of_the_graph_is_torchs_failure_where_the_user_asks_for_one_graph(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "case.py"
    file.write_text(CASE, encoding="utf-8")
    given = ["compile_check", str(file), "--backend", "aot_eager", "-o", str(tmp_path / "out")]
    assert main([*given, "--fullgraph"]) == 1
    said = capsys.readouterr().err
    assert "torch.compile fails on this model, without any recording" in said
    assert "torch's own failure" in said


def test_a_backend_that_fails_is_told_as_such(tmp_path: Path) -> None:
    def backend(graph: Any, inputs: list[Any]) -> Any:
        raise ValueError("no kernel for tanh")

    class Small(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x.tanh()

    with pytest.raises(CheckError, match="no kernel for tanh"):
        check_compilation(lambda: Case(Small(), (torch.ones(3),), {}), tmp_path, backend)


def wrong(graph: Any, _: object) -> Any:
    """A compiler that forgets to halve."""
    for node in graph.graph.nodes:
        if node.args[1:] == (0.5,):
            node.args = (node.args[0], 0.6)
    graph.recompile()
    return graph.forward


class Halving(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.fc(x)
        return out * 0.5


def compiled_by_itself() -> nn.Module:
    return torch.compile(Halving(), backend=wrong)  # type: ignore[return-value]  # it is a module


def compiled_in_place() -> nn.Module:
    model = Halving()
    model.compile(backend=wrong)
    return model


def compiled_in_parts() -> nn.Module:
    return nn.Sequential(compiled_by_itself(), nn.Tanh())


@pytest.mark.parametrize("made", [compiled_by_itself, compiled_in_place, compiled_in_parts])
def test_a_model_that_its_function_has_compiled_is_run_eager_too(
    made: Callable[[], nn.Module], tmp_path: Path
) -> None:
    def make() -> Case:
        torch.manual_seed(0)
        return Case(made(), (torch.ones(2, 4),), {})

    answer = check_compilation(make, tmp_path, wrong)
    assert not answer.agrees
    assert answer.diagnosis.findings[0].node == "Tensor.__mul__.0.forward"


def test_eager_beside_eager_is_no_answer(tmp_path: Path) -> None:
    def make() -> Case:
        return Case(Halving(), (torch.ones(2, 4),), {})

    with (
        torch.compiler.set_stance("force_eager"),
        pytest.raises(CheckError, match="eager would be compared with itself"),
    ):
        check_compilation(make, tmp_path, "aot_eager")
