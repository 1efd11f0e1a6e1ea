"""Recording inside compiled graphs: nothing of the run changes, and the dump is that of eager."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from msprobe_core import PrecisionDebugger
from tests.msprobe_core.dump_reading import RankDump, read_rank_dumps, tensors
from tests.msprobe_core.torch.graph.late_backend import late_backend
from tests.msprobe_core.torch.graph.models import Language, are_equal, batch, language, train

# Inductor imports parts of torch that torch itself has deprecated.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
BACKENDS = ["eager", "aot_eager"]  # inductor is in tests/msprobe/compile_check


@pytest.fixture(autouse=True)
def _fresh_dynamo() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    if PrecisionDebugger.current is not None:
        PrecisionDebugger.current.close()
    torch._dynamo.reset()


@pytest.fixture
def record(tmp_path: Path) -> Callable[..., PrecisionDebugger]:
    """Makes a debugger that writes to a folder of this name."""

    def make(name: str, level: str = "L0", **settings: Any) -> PrecisionDebugger:
        file = tmp_path / f"{name}.json"
        settings = {"dump_path": str(tmp_path / name), "level": level, **settings}
        file.write_text(json.dumps(settings))
        return PrecisionDebugger(file)

    return make


def one_step(debugger: PrecisionDebugger, model: nn.Module, run: Any) -> list[Tensor]:
    debugger.start(model=model)
    seen = train(model, run)
    debugger.stop()
    debugger.step()
    return seen


def compiled(model: nn.Module, backend: Any) -> Any:
    return torch.compile(model, backend=backend, fullgraph=True)


def records(dump: RankDump) -> dict[str, Any]:
    """The records of tensors by entry, side and place, without what graph mode does not have."""
    found: dict[str, Any] = {}
    for name, entry in dump.data.items():
        for side in ("input_args", "output", "input"):
            for at, each in enumerate(entry.get(side) or []):
                if ".backward" in name and side == "output":
                    continue
                if isinstance(each, dict) and each.get("type") == "torch.Tensor":
                    found[f"{name}.{side}.{at}"] = {
                        k: v for k, v in each.items() if k not in ("source", "through")
                    }
    return found


@pytest.mark.parametrize("backend", BACKENDS)
def test_results_are_bit_equal_and_no_graph_breaks(
    backend: str, record: Callable[..., PrecisionDebugger], tmp_path: Path
) -> None:
    base = language()
    plain = copy.deepcopy(base)
    expected = train(plain, compiled(plain, backend))
    torch._dynamo.reset()
    model = copy.deepcopy(base)
    debugger = record("graph", "mix", capture="graph")
    run = compiled(model, backend)
    for _ in range(2):
        assert are_equal(one_step(debugger, model, run), expected)
    first, second = read_rank_dumps(tmp_path / "graph")
    assert records(first) == records(second)
    hooked = {path for path, module in base.named_modules() if path and path != "layers"}
    outputs = {name.split(".forward")[0].rpartition(".")[0] for name in first.names}
    assert {f"Module.{path}" for path in hooked} <= outputs


class Odd(nn.Module):
    """Operators whose name the code around them does not tell, constants, and unread outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.fc, self.factor = nn.Linear(8, 8), 3.0

    def forward(self, x: Tensor) -> Tensor:
        x = self.fc(x)
        x = x[1:].sum() * x + 2 * x[0:2].mean() * x  # a slice of a tensor beside a tensor
        x = sum([x, self.factor * x, x.__rmul__(3)])
        x = x * torch.tensor(2.0) + torch.tensor(0.5) * x
        least, _ = x.aminmax(dim=0)  # nobody reads the other one, and no gradient comes for it
        rows = torch.tensor([0, 1])
        x = x.clone()
        x[rows] += x[rows] * least
        x = x.scatter_add(0, torch.zeros(4, 8, dtype=torch.long), x)
        return torch._softmax(nn.functional.hardswish(x), -1, False)


@pytest.mark.parametrize("backend", ["eager", "aot_eager", late_backend])
def test_odd_calls_are_those_of_an_eager_dump(
    backend: Any, record: Callable[..., PrecisionDebugger], tmp_path: Path
) -> None:
    torch.manual_seed(0)
    base, x = Odd(), torch.randn(4, 8)
    for name, settings in (("eager", {}), ("graph", {"capture": "graph"})):
        torch.manual_seed(0)
        model = copy.deepcopy(base)
        debugger = record(name, "mix", **settings)
        debugger.start(model=model)
        run = compiled(model, backend) if settings else model
        run(x).square().sum().backward()
        debugger.stop()
        debugger.step()
    (expected,), (found,) = (read_rank_dumps(tmp_path / name) for name in ("eager", "graph"))
    forward = [
        {name: each for name, each in records(dump).items() if ".forward" in name}
        for dump in (found, expected)
    ]
    called = {name.partition(".forward")[0] for name in forward[0]}
    assert {"Tensor.__setitem__.0", "Torch._softmax.0", "Functional.hardswish.0"} <= called
    # What nobody reads is not computed where records wait until the graph is finished.
    unread = ["Tensor.aminmax.0.forward.output.1"] if backend is late_backend else []
    assert [name for name, each in forward[0].items() if "fused" in each] == unread
    for name in unread:
        del forward[0][name], forward[1][name]
    assert forward[0] == forward[1]


@pytest.mark.parametrize("level", ["L0", "L1", "mix"])
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_entries_are_those_of_an_eager_dump(
    level: str, backend: str, record: Callable[..., PrecisionDebugger], tmp_path: Path
) -> None:
    base = language()
    one_step(record("eager", level), eager := copy.deepcopy(base), eager)
    model = copy.deepcopy(base)
    one_step(record("graph", level, capture="graph"), model, compiled(model, backend))
    (expected,), (found,) = (read_rank_dumps(tmp_path / name) for name in ("eager", "graph"))
    assert sorted(found.names) == sorted(expected.names)
    assert records(found) == records(expected)
    assert len(records(found)) > len(found.names)
    for name in found.names:
        assert found.construct.get(name) == expected.construct.get(name), name
    gradients = [name for name in found.names if "parameters_grad" in name]
    assert [found.data[name] for name in gradients] == [expected.data[name] for name in gradients]


def test_stacks_name_the_users_lines(
    record: Callable[..., PrecisionDebugger], tmp_path: Path
) -> None:
    model = language()
    one_step(record("graph", "mix", capture="graph"), model, compiled(model, "aot_eager"))
    (dump,) = read_rank_dumps(tmp_path / "graph")
    stack = dump.stack_of("Functional.scaled_dot_product_attention.0.forward")
    assert "models.py" in stack[0] and "scaled_dot_product_attention" in stack[0]
    assert not any("traced.py" in frame for frame in stack)
    assert dump.stack_of("Module.layers.0.Block.forward.0")
    assert dump.head["capture"]["mode"] == "graph"


def test_selected_steps_alone_are_recorded_without_compiling_again(
    record: Callable[..., PrecisionDebugger], tmp_path: Path
) -> None:
    model = language()
    debugger = record("graph", capture="graph", step=[1, 3])
    run = compiled(model, "aot_eager")
    compilations = []
    for _ in range(4):
        one_step(debugger, model, run)
        compilations.append(torch._dynamo.utils.counters["stats"]["unique_graphs"])
    names = {dump.path.parent.name: dump.names for dump in read_rank_dumps(tmp_path / "graph")}
    assert set(names) == {"step1", "step3"}
    assert names["step1"] == names["step3"]
    assert compilations[1] == compilations[3]


def test_micro_batches_are_calls_of_their_own(
    record: Callable[..., PrecisionDebugger], tmp_path: Path
) -> None:
    model = language()
    debugger = record("graph", capture="graph")
    run = compiled(model, "aot_eager")
    debugger.start(model=model)
    for _ in range(3):
        train(model, run)
    debugger.stop()
    debugger.step()
    (dump,) = read_rank_dumps(tmp_path / "graph")
    for direction in ("forward", "backward", "parameters_grad"):
        calls = [f"Module.head.Linear.{direction}.{number}" for number in range(3)]
        assert [name for name in dump.names if name.startswith(calls[0][:-1])] == calls


# Dynamo asks each of its inputs for a gradient, and torch warns of that.
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor")
def test_layers_compiled_one_by_one_share_graphs_and_keep_their_names(
    record: Callable[..., PrecisionDebugger], tmp_path: Path
) -> None:
    graphs: list[int] = []

    def counting(graph: Any, example: Any) -> Any:
        graphs.append(1)
        return torch._dynamo.lookup_backend("aot_eager")(graph, example)

    counts = []
    for layers in (3, 6):
        torch._dynamo.reset()
        graphs.clear()
        torch.manual_seed(0)
        model = Language(layers=layers)
        debugger = record(f"graph{layers}", capture="graph")
        debugger.start(model=model)
        for layer in model.layers:
            layer.compile(backend=counting, fullgraph=True)
        train(model, model)
        debugger.step()
        debugger.close()
        counts.append(len(graphs))
        (dump,) = read_rank_dumps(tmp_path / f"graph{layers}")
        for at in range(layers):
            assert f"Module.layers.{at}.act.GELU.forward.0" in dump.names
            assert f"Module.layers.{at}.act.GELU.backward.0" in dump.names
    assert counts[0] == counts[1]


class InPlace(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.relu, self.b = nn.Linear(8, 8), nn.ReLU(inplace=True), nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.b(self.relu(self.a(x)))
        return out


class Checkpointed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = language()

    def forward(self, ids: Tensor) -> Tensor:
        x = self.inner.embed(ids)
        for layer in self.inner.layers:
            x = checkpoint(layer, x, use_reentrant=False)
        out: Tensor = self.inner.head(x)
        return out


def test_an_output_that_is_overwritten_later_was_recorded_before(
    record: Callable[..., PrecisionDebugger], tmp_path: Path
) -> None:
    torch.manual_seed(0)
    model, x = InPlace(), torch.randn(2, 8)
    before = model.a(x)
    debugger = record("graph", capture="graph")
    debugger.start(model=model)
    compiled(model, "aot_eager")(x).sum().backward()
    debugger.step()
    (dump,) = read_rank_dumps(tmp_path / "graph")
    seen = dump.data["Module.a.Linear.forward.0"]["output"][0]
    assert seen["Min"] == before.min().item() < 0
    assert dump.data["Module.relu.ReLU.forward.0"]["output"][0]["Min"] == 0


def test_checkpointing_autocast_and_inference_run(
    record: Callable[..., PrecisionDebugger], tmp_path: Path
) -> None:
    model = Checkpointed()
    plain = copy.deepcopy(model)
    expected = train(plain, compiled(plain, "aot_eager"))
    torch._dynamo.reset()
    debugger = record("graph", capture="graph")
    run = compiled(model, "aot_eager")
    assert are_equal(one_step(debugger, model, run), expected)
    debugger.start(model=model)
    with torch.autocast("cpu", torch.bfloat16):
        train(model, run)
    debugger.step()
    debugger.start(model=model)
    with torch.inference_mode():
        run(batch())
    debugger.step()
    first, cast, inferred = read_rank_dumps(tmp_path / "graph")
    assert "Module.inner.layers.1.act.GELU.forward.0" in first.names
    dtypes = {each["dtype"] for entry in cast.data.values() for each in tensors(entry)}
    assert "torch.bfloat16" in dtypes
    assert not any("backward" in name for name in inferred.names)


def test_hooks_that_come_after_a_compilation_are_seen(
    record: Callable[..., PrecisionDebugger],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    model = language()
    run = compiled(model, "aot_eager")
    train(model, run)
    one_step(record("graph", capture="graph"), model, run)
    (dump,) = read_rank_dumps(tmp_path / "graph")
    assert "Module.layers.1.act.GELU.forward.0" in dump.names
    assert "compiled again" in capsys.readouterr().err


def test_modules_without_a_record_are_named(
    record: Callable[..., PrecisionDebugger], capsys: pytest.CaptureFixture[str]
) -> None:
    model = language()
    model.spare = nn.Linear(2, 2)
    one_step(record("graph", capture="graph"), model, compiled(model, "aot_eager"))
    assert "1 of 19 modules left no record in this step: spare" in capsys.readouterr().err


def test_each_of_several_models_has_its_place_in_all_names(
    record: Callable[..., PrecisionDebugger], tmp_path: Path
) -> None:
    for name, settings in (("eager", {}), ("graph", {"capture": "graph"})):
        models = [nn.Linear(3, 3), nn.Sequential(nn.Linear(3, 3), nn.GELU())]
        debugger = record(name, **settings)
        debugger.start(model=models)
        models[1](models[0](torch.ones(2, 3))).sum().backward()
        debugger.step()
        debugger.close()
    (eager,), (graph,) = (read_rank_dumps(tmp_path / name) for name in ("eager", "graph"))
    assert sorted(graph.names) == sorted(eager.names)
    assert "Module.1.0.Linear.parameters_grad.0" in graph.names


def test_what_cannot_be_measured_does_not_reach_the_run(
    record: Callable[..., PrecisionDebugger], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object) -> None:
        raise RuntimeError("no numbers today")

    monkeypatch.setattr("msprobe_core.torch.graph.log.measure_now", failing)
    model = language()
    expected = train(eager := copy.deepcopy(model), eager)
    debugger = record("graph", capture="graph")
    assert are_equal(one_step(debugger, model, compiled(model, "aot_eager")), expected)
    log = next((tmp_path / "graph").rglob("dump_error_info.log")).read_text()
    assert "no numbers today" in log


def test_nan_is_counted(record: Callable[..., PrecisionDebugger], tmp_path: Path) -> None:
    model = language()
    with torch.no_grad():
        model.layers[0].up.weight[0, 0] = float("nan")  # type: ignore[union-attr,index]
    one_step(record("graph", capture="graph"), model, compiled(model, "aot_eager"))
    (dump,) = read_rank_dumps(tmp_path / "graph")
    assert dump.data["Module.layers.0.up.Linear.forward.0"]["output"][0]["nan_count"] == 16


class Pair(nn.Module):
    """A module with a list and a keyword among its inputs."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, pair: list[Tensor], factor: Tensor, shift: Tensor | None = None) -> Tensor:
        out: Tensor = self.a(pair[0]) + self.b(pair[1]) * factor
        return out if shift is None else out + shift


class Twice(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.pair = nn.Linear(4, 4), Pair()

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        out: Tensor = x + self.pair([x, x * 2], x.detach(), shift=x * 3)
        return out


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_gradients_of_inputs_are_those_of_an_eager_dump(
    backend: str, record: Callable[..., PrecisionDebugger], tmp_path: Path
) -> None:
    torch.manual_seed(0)
    base, x = Twice(), torch.randn(3, 4)
    for name, settings in (("eager", {}), ("graph", {"capture": "graph", "grad_inputs": True})):
        model = copy.deepcopy(base)
        debugger = record(name, **settings)
        debugger.start(model=model)
        run = model if name == "eager" else compiled(model, backend)
        run(x).square().sum().backward()
        debugger.step()
        debugger.close()
    (eager,), (graph,) = (read_rank_dumps(tmp_path / name) for name in ("eager", "graph"))
    sent = {n: graph.data[n]["output"] for n in graph.names if ".backward." in n}
    assert [n for n, values in sent.items() if values] == [
        "Module.pair.Pair.backward.0",
        "Module.pair.b.Linear.backward.0",
        "Module.pair.a.Linear.backward.0",
    ]
    for name, values in sent.items():
        expected = eager.data[name]["output"]
        norms = [each["Norm"] for each in tensors({"output": values})]
        exact = [each["Norm"] for each in tensors({"output": expected})]
        assert norms == pytest.approx(exact, rel=1e-5), name
    pair = sent["Module.pair.Pair.backward.0"]
    assert [type(each) for each in pair] == [list, type(None), dict]
    assert [type(each) for each in eager.data["Module.pair.Pair.backward.0"]["output"]] == [
        list,
        type(None),
        dict,
    ]
