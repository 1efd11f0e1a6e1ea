"""Eager against compiled: a sound compiler is not accused; of a wrong one the place is named."""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.aot_autograd import make_boxed_func
from torch.fx import Graph

from builder import build, diagnose
from evaluation.compile_faults.faults import norm_with_a_wrong_scale
from msprobe.cli import main
from msprobe.cli.compile_check import _said
from msprobe.compile_check import Case, check_compilation, load_case
from msprobe.compile_check.bisection import Parted, Trial, find_parted
from msprobe.compile_check.compilation import derived_loss
from msprobe.errors import CheckError
from msprobe_core import PrecisionDebugger
from tests.msprobe_core.dump_reading import read_rank_dumps
from tests.msprobe_core.torch.graph.models import RootMeanSquareNorm, batch, language, train

aten = torch.ops.aten
# Inductor imports parts of torch that torch itself has deprecated.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="inductor needs g++")


@pytest.fixture(autouse=True)
def _fresh_dynamo() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def case(dtype: torch.dtype = torch.float32) -> Case:
    return Case(language().to(dtype), (batch(),), {})


def wrong_gelu(x: Tensor, *, approximate: str = "none") -> Tensor:
    """The decomposition of gelu with a constant that is 0.2 % off."""
    return x * 0.5 * (1.0 + torch.erf(x * (0.70710678 * 1.002)))


def boxed(graph: Any, _: Any) -> Any:
    return make_boxed_func(graph.forward)


WRONG = aot_autograd(fw_compiler=boxed, decompositions={aten.gelu.default: wrong_gelu})


def wrong_unless_recorded(graph: Any, inputs: Any) -> Any:
    """A compiler whose fault needs neighbours that a record parts."""
    observed = any("msprobe" in str(node.target) for node in graph.graph.nodes)
    return (torch._dynamo.lookup_backend("aot_eager") if observed else WRONG)(graph, inputs)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_sound_compiler_agrees(dtype: torch.dtype, tmp_path: Path) -> None:
    answer = check_compilation(lambda: case(dtype), tmp_path, "aot_eager")
    assert answer.agrees and answer.diagnosis.comparable
    assert answer.changed == []
    assert answer.diagnosis.unmatched_problem == answer.diagnosis.unmatched_benchmark == 0


class HalfConstant(nn.Module):
    """Of two products the last one has no gradient, and the first one is written from the right."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = 1 - (2 * self.fc(x) + x) * 0.5 + x * x
        return out


def test_a_gradient_belongs_to_a_call_that_can_have_one(tmp_path: Path) -> None:
    def make() -> Case:
        torch.manual_seed(0)
        return Case(HalfConstant(), (torch.randn(4, 8),), {})

    answer = check_compilation(make, tmp_path, "aot_eager")
    assert answer.agrees and answer.diagnosis.comparable
    assert answer.diagnosis.unmatched_problem == answer.diagnosis.unmatched_benchmark == 0


@needs_compiler
def test_a_wrong_pass_of_inductors_does_not_hide_from_the_recording(tmp_path: Path) -> None:
    """The pass needs a value that nobody else uses, so it would not match beside a record."""
    matches: list[int] = []

    def seeded(graph: Graph) -> None:
        before = len(graph.nodes)
        norm_with_a_wrong_scale(graph)
        matches.append(len(graph.nodes) - before)

    with torch._inductor.config.patch(post_grad_custom_pre_pass=seeded):
        answer = check_compilation(Small.case, tmp_path)
    # Forward and backward of the model alone, which no cache holds, then of the recorded one.
    assert matches == [1, 0] * 2
    assert answer.changed == [] and not answer.agrees
    assert all(alone == recorded for alone, recorded in answer.counted.values())
    (first,) = answer.diagnosis.findings
    assert (first.node, first.inside) == (
        "Tensor.__mul__.0.forward",
        "Module.norm.RootMeanSquareNorm.forward.0",
    )
    (compiled,), (eager,) = (read_rank_dumps(tmp_path / name) for name in ("compiled", "eager"))
    assert sorted(compiled.names) == sorted(eager.names)
    assert compiled.construct == eager.construct
    assert "fused" not in str(compiled.data)
    facts = compiled.head["capture"]
    assert (facts["backend"], facts["points"], facts["graphs"]) == ("inductor", "late", 1)
    assert facts["passes"]["pattern_matcher_count"] == answer.counted["pattern matches"][0]


class Small(nn.Module):
    """One norm between two layers: all that a fused norm and a backward pass need."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.out = RootMeanSquareNorm(8), nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.out(self.norm(x))
        return out

    @classmethod
    def case(cls) -> Case:
        torch.manual_seed(0)
        return Case(cls(), (torch.randn(4, 8),), {})


def test_the_first_wrong_call_and_its_module_are_named(tmp_path: Path) -> None:
    answer = check_compilation(case, tmp_path, WRONG)
    first = answer.diagnosis.findings[0]
    assert first.node == "Functional.gelu.0.forward"
    assert first.inside == "Module.layers.0.act.GELU.forward.0"
    assert not answer.agrees


def test_a_difference_that_vanishes_while_recorded_is_said(tmp_path: Path) -> None:
    answer = check_compilation(case, tmp_path, wrong_unless_recorded, "L0")
    assert answer.diagnosis.findings == []
    assert "output 0" in [each.name for each in answer.vanished]
    assert all(each.alone > each.recorded for each in answer.vanished)
    assert not answer.agrees


def wrong_unless_gelu_is_recorded(graph: Any, inputs: Any) -> Any:
    """A compiler whose fault needs the activation and what follows in one kernel."""
    gelu = next(node for node in graph.graph.nodes if "gelu" in str(node.target))
    observed = any("msprobe" in str(user.target) for user in gelu.users)
    return (torch._dynamo.lookup_backend("aot_eager") if observed else WRONG)(graph, inputs)


def three_layers() -> Case:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4), nn.GELU(), nn.Linear(4, 2))
    return Case(model, (torch.randn(3, 4),), {})


def test_the_records_between_which_a_vanishing_difference_lies_are_named(tmp_path: Path) -> None:
    answer = check_compilation(three_layers, tmp_path, wrong_unless_gelu_is_recorded, "L0")
    assert answer.vanished and not answer.agrees
    activation = "Module.1.GELU.forward.0"
    assert answer.parted == Parted(f"{activation}.input.0", f"{activation}.output.0")
    assert any(f"between {activation}.input.0 and" in line for line in _said(answer))


def test_bisecting_finds_the_record_that_parts_and_knows_when_none_does() -> None:
    def trial(parting: int, limit: int) -> Trial:
        return Trial(limit < parting, frozenset(f"value {at}" for at in range(limit)))

    for parting in range(1, 9):
        parted = find_parted(lambda limit, at=parting: trial(at, limit), 8)  # type: ignore[misc]
        before = f"value {parting - 2}" if parting > 1 else ""
        assert parted == Parted(before, f"value {parting - 1}")
    assert find_parted(lambda limit: trial(0, limit), 8) is None


@pytest.mark.parametrize("norm", [nn.LayerNorm(16), nn.RMSNorm(16)])
def test_the_derived_loss_has_a_gradient_behind_a_norm(norm: nn.Module) -> None:
    x = torch.randn(4, 16, generator=torch.Generator().manual_seed(0), requires_grad=True)
    y = norm(x)
    loss = derived_loss({"hidden": y})
    assert loss is not None
    before, after = torch.autograd.grad(loss, (x, y))
    assert before.norm() > 0.3 * after.norm()


class Noisy(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + torch.rand(3, generator=_CHANCE)


_CHANCE = torch.Generator()


def test_chance_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckError, match="two eager runs from one seed differ in output 0"):
        check_compilation(lambda: Case(Noisy(), (torch.ones(3),), {}), tmp_path, "eager")


@pytest.mark.parametrize(("backend", "code"), [("aot_eager", 0)])
def test_the_command(
    backend: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "case.py"
    file.write_text(
        "import torch\n"
        "def compile_check():\n"
        "    return torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.GELU()), torch.ones(2, 4)\n"
    )
    arguments = [str(file), "-o", str(tmp_path / "out"), "--backend", backend]
    assert main(["compile_check", *arguments]) == code
    assert "compiled and eager agree" in capsys.readouterr().out


def test_what_is_no_case_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "case_without.py"
    file.write_text("def other():\n    return 3\n")
    with pytest.raises(CheckError, match="no function 'compile_check'"):
        load_case(str(file))
    with pytest.raises(CheckError, match="returns int"):
        load_case(f"{file}:other")()
    with pytest.raises(CheckError, match="no such file"):
        load_case(str(tmp_path / "absent.py"))
    with pytest.raises(CheckError, match="no_such_module"):
        load_case("no_such_module:case")


def dump(folder: Path, model: nn.Module, run: Callable[..., Any], **settings: Any) -> Path:
    config = folder.with_suffix(".json")
    config.write_text(json.dumps({"dump_path": str(folder), "level": "mix", **settings}))
    debugger = PrecisionDebugger(config)
    debugger.start(model=model)
    train(model, run)
    debugger.stop()
    debugger.step()
    debugger.close()
    return folder


@pytest.mark.parametrize(("backend", "node"), [("aot_eager", None), (WRONG, "gelu.0.forward")])
def test_a_graph_dump_is_compared_with_an_eager_one(
    backend: Any, node: str | None, tmp_path: Path
) -> None:
    model = language()
    eager = dump(tmp_path / "eager", other := copy.deepcopy(model), other)
    run = torch.compile(model, backend=backend, fullgraph=True)
    graph = dump(tmp_path / "graph", model, run, capture="graph")
    diagnosis = diagnose(build(graph, eager, tmp_path / "out").path)
    assert diagnosis.unmatched_problem == 0  # calls that only move data are in eager dumps alone
    if node is None:
        assert diagnosis.findings == []
    else:
        assert diagnosis.findings[0].node.endswith(node)


class Picks(nn.Module):
    """A row of a table by the largest of some numbers, and which row that is."""

    def __init__(self) -> None:
        super().__init__()
        self.score, self.table = nn.Linear(16, 64), nn.Embedding(64, 16)

    def forward(self, x: Tensor) -> dict[str, Any]:
        score = self.score(x)
        at = score.argmax(-1)
        return {"loss": self.table(at).square().mean() + score.square().mean(), "at": at}

    @classmethod
    def case(cls) -> Case:
        torch.manual_seed(0)
        return Case(cls(), (torch.randn(4, 16),), {})


def second_best(x: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    return torch.topk(x, 2, dim=-1).indices[..., 1]


def test_another_choice_without_its_margin_is_no_agreement(tmp_path: Path) -> None:
    """A wrong choice among numbers that agree looks like a tie, but for what it does."""
    other = {aten.argmax.default: second_best}
    answer = check_compilation(
        Picks.case, tmp_path, aot_autograd(fw_compiler=boxed, decompositions=other)
    )
    assert not answer.agrees
    assert answer.untold == ("Tensor.argmax.0.forward",)
    assert {"loss", "gradient of table.weight"} <= {each.name for each in answer.apart}
    said = "\n".join(_said(answer))
    assert (
        "agree" not in said.splitlines()[1]
        and "Tensor.argmax.0.forward picks other elements" in said
    )


def wrong_unless_patched(graph: Any, inputs: Any) -> Any:
    """A compiler whose cache holds a wrong kernel."""
    cached = torch._inductor.config.fx_graph_cache
    return (WRONG if cached else torch._dynamo.lookup_backend("aot_eager"))(graph, inputs)


def test_a_fault_that_lives_in_a_cache_is_seen(tmp_path: Path) -> None:
    with torch._inductor.config.patch(fx_graph_cache=True):
        answer = check_compilation(case, tmp_path, wrong_unless_patched)
    assert answer.diagnosis.findings == [] and answer.vanished == []
    assert not answer.agrees
    assert "output 0" in [each.name for each in answer.apart]


class Counts(nn.Module):
    """A number that is no tensor among the results, and noise that the seed draws."""

    def forward(self, x: Tensor) -> tuple[Tensor, int]:
        noisy = x + torch.rand_like(x)
        return noisy, 3 if torch.compiler.is_compiling() else 2


def test_numbers_among_the_results_count_and_chance_is_that_of_eager(tmp_path: Path) -> None:
    answer = check_compilation(lambda: Case(Counts(), (torch.ones(3),), {}), tmp_path, "aot_eager")
    assert [each.name for each in answer.apart] == ["output 1"]
    assert not answer.agrees
