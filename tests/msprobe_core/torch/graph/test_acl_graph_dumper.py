"""AclGraphDumper as inference engines call it: once `start`, then `step` after each pass."""

from __future__ import annotations

import json
import os
import runpy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from builder.dump.sources import find_sources
from msprobe.pytorch import AclGraphDumper, acl_save
from msprobe_core.errors import ConfigError, LifecycleError
from tests.msprobe_core.dump_reading import read_rank_dumps
from tests.msprobe_core.torch.graph.models import Language, batch, language


@pytest.fixture
def dumper(tmp_path: Path) -> Iterator[Callable[..., AclGraphDumper]]:
    made: list[AclGraphDumper] = []

    def make(**settings: Any) -> AclGraphDumper:
        file = tmp_path / "config.json"
        given = {"task": "statistics", "dump_path": str(tmp_path / "dump"), **settings}
        file.write_text(json.dumps(given))
        made.append(AclGraphDumper(file))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture(autouse=True)
def _fresh_dynamo() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


class GraphRunner:
    """The part of vLLM-Ascend's runner that touches the dumper: no `stop` is ever called."""

    def __init__(self, dumper: AclGraphDumper, model: Language) -> None:
        assert not hasattr(dumper, "stop"), "the engine would stop in each step"
        self.dumper, self.model = dumper, model
        self.run: Any = model
        self.dumper.start(model)  # at the end of load_model
        self.run = torch.compile(model, backend="aot_eager", fullgraph=True)

    @torch.inference_mode()
    def dummy_run(self) -> None:
        self.run(batch())
        self.dumper.step(dump=False)

    @torch.inference_mode()
    def execute_model(self, ids: Tensor | None) -> Tensor | None:
        out = None if ids is None else self.run(ids)
        self.dumper.step()
        return out


def test_an_engines_order_of_calls(dumper: Callable[..., AclGraphDumper], tmp_path: Path) -> None:
    model = language()
    with torch.inference_mode():
        expected = model(batch())
    runner = GraphRunner(dumper(), model)
    runner.dummy_run()
    runner.dummy_run()
    assert list((tmp_path / "dump").rglob("dump.json")) == []
    found = runner.execute_model(batch())
    assert found is not None and torch.equal(found, expected)
    runner.execute_model(batch(1, 4))
    first, second = read_rank_dumps(tmp_path / "dump")
    assert first.path == tmp_path / "dump" / "step0" / f"pid{os.getpid()}"
    assert second.path.parent.name == "step1"
    assert first.names[-1] == "Module.__root__.Language.forward.0"
    assert "Module.layers.0.act.GELU.forward.0" in first.names
    shape = first.data["Module.head.Linear.forward.0"]["output"][0]["shape"]
    assert shape == [2, 8, 64]
    assert second.data["Module.head.Linear.forward.0"]["output"][0]["shape"] == [1, 4, 64]
    assert first.construct["Module.head.Linear.forward.0"] == "Module.__root__.Language.forward.0"
    assert [each.step for each in find_sources(tmp_path / "dump").sources] == [0, 1]


def test_training_is_recorded_backward_too(
    dumper: Callable[..., AclGraphDumper], tmp_path: Path
) -> None:
    model = language()
    target = dumper()
    target.start(model)
    torch.compile(model, backend="aot_eager", fullgraph=True)(batch()).sum().backward()
    target.step()
    (dump,) = read_rank_dumps(tmp_path / "dump")
    assert "Module.layers.0.act.GELU.backward.0" in dump.names
    assert "Module.head.Linear.parameters_grad.0" in dump.names


def test_list_takes_parts_of_names_in_any_case(
    dumper: Callable[..., AclGraphDumper], tmp_path: Path
) -> None:
    model = language()
    target = dumper(level="mix", statistics={"list": ["gElU"]})
    target.start(model)
    with torch.inference_mode():
        model(batch())
    target.step()
    (dump,) = read_rank_dumps(tmp_path / "dump")
    assert dump.names == [
        "Aten.gelu.0.forward",
        "Module.layers.0.act.GELU.forward.0",
        "Aten.gelu.1.forward",
        "Module.layers.1.act.GELU.forward.0",
    ]


def test_dump_enable_is_read_in_each_step(
    dumper: Callable[..., AclGraphDumper], tmp_path: Path
) -> None:
    model = language()
    target = dumper(dump_enable=False)
    target.start(model)
    run = torch.compile(model, backend="aot_eager", fullgraph=True)
    for enabled in (True, False, True):
        run(batch())
        file = tmp_path / "config.json"
        settings = json.loads(file.read_text()) | {"dump_enable": enabled}
        file.write_text(json.dumps(settings))
        target.step()
    run(batch())
    target.step()
    steps = [dump.path.parent.name for dump in read_rank_dumps(tmp_path / "dump")]
    assert steps == ["step1", "step3"]


def test_what_graph_mode_does_not_have_is_refused(
    dumper: Callable[..., AclGraphDumper], tmp_path: Path
) -> None:
    for wrong, named in (
        ({"task": "tensor"}, "task is 'tensor' in graph mode"),
        ({"level": "L2"}, "L2"),
        ({"statistics": {"summary_mode": "md5"}}, "summary_mode"),
        ({"statistics": {"scope": ["Module.a.A.forward.0", "Module.b.B.forward.0"]}}, "scope"),
        ({"async_dump": True}, "async_dump"),
    ):
        with pytest.raises(ConfigError, match=named):
            dumper(**wrong)
    file = tmp_path / "empty.json"
    file.write_text('{"task": "statistics"}')
    with pytest.raises(ConfigError, match="dump_path is missing"):
        AclGraphDumper(file)
    with pytest.raises(ConfigError, match="config_path"):
        AclGraphDumper()
    with pytest.raises(LifecycleError, match="give the model"):
        dumper().start(None)  # type: ignore[arg-type]


def test_nothing_begins_and_no_file_is_written_while_a_device_captures(
    dumper: Callable[..., AclGraphDumper], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
    with pytest.raises(LifecycleError, match="start while a graph is being captured"):
        dumper().start(language())
    with pytest.raises(LifecycleError, match="a file can only be written outside of it"):
        acl_save(torch.ones(2), str(tmp_path / "hidden.pt"))


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("level", ["L1", "mix"])
def test_operators_of_a_compiled_graph_are_recorded_as_they_run(
    backend: str, level: str, dumper: Callable[..., AclGraphDumper], tmp_path: Path
) -> None:
    model = language()
    target = dumper(level=level)
    target.start(model)
    run = torch.compile(model, backend=backend, fullgraph=True)
    with torch.no_grad():
        for _ in range(2):
            found = run(batch() + 0)  # outside of the model: not recorded
            target.step()
        target.close()
        assert torch.equal(found, model(batch()))
    first, second = read_rank_dumps(tmp_path / "dump")
    assert first.names == second.names
    calls = [name for name in first.names if name.startswith("Aten.")]
    assert ("Module.layers.1.Block.forward.0" in first.names) == (level == "mix")
    assert len(calls) == len([n for n in first.names if not n.startswith("Module.")])
    assert {"Aten.embedding.0.forward", "Aten.gelu.1.forward", "Aten.mean.1.forward"} <= {*calls}
    assert not any("view" in name or ".t." in name for name in calls)
    gelu = first.data["Aten.gelu.1.forward"]
    exact = torch.nn.functional.gelu(model.layers[1].up(inner(model)))  # type: ignore[union-attr,index]
    assert gelu["output"][0]["Norm"] == pytest.approx(exact.norm().item(), rel=1e-5)
    if level == "mix":
        assert first.construct["Aten.gelu.1.forward"] == "Module.layers.1.act.GELU.forward.0"
    assert "models.py" in str(first.stack_of("Aten.gelu.1.forward"))


class Generated(nn.Module):
    """Calls an operator as what inductor writes does, behind a wrapper of torch's."""

    def forward(self, x: Tensor) -> Tensor:
        wrapper: dict[str, Any] = {"__name__": "torch._functorch._aot_autograd.runtime_wrappers"}
        exec("def wrapped(run, *given): return run(*given)", wrapper)
        kernels = {**wrapper, "__name__": "torch._inductor.runtime.compile_tasks.c", "mm": torch.mm}
        exec("def call(x): return wrapped(mm, x, x)", kernels)
        out: Tensor = kernels["call"](x.exp())
        return out


def test_operators_that_inductors_code_runs_are_its_own(
    dumper: Callable[..., AclGraphDumper], tmp_path: Path
) -> None:
    target, model = dumper(level="L1"), Generated()
    target.start(model)
    with torch.no_grad():
        model(torch.eye(3))
    target.step()
    (dump,) = read_rank_dumps(tmp_path / "dump")
    assert dump.names == ["Aten.exp.0.forward"]


def inner(model: Language) -> Tensor:
    """What the last layer's first product reads."""
    x = model.layers[0](model.embed(batch()))
    last: Any = model.layers[1]
    out: Tensor = x + last.attention(last.norm(x))
    return out


@pytest.mark.parametrize("backend", [None, "eager", "aot_eager"])
def test_acl_save_writes_one_file_a_run_and_returns_the_tensor(
    backend: str | None, tmp_path: Path
) -> None:
    path = str(tmp_path / f"{backend}" / "hidden.pt")

    def double(x: Tensor) -> Tensor:
        return acl_save(x * 2, path) + 1

    run = double if backend is None else torch.compile(double, backend=backend, fullgraph=True)
    for number in range(2):
        x = torch.full((3,), float(number))
        assert torch.equal(run(x), x * 2 + 1)
    saved = [torch.load(tmp_path / f"{backend}" / f"hidden_{n}.pt") for n in range(2)]
    assert [each.tolist() for each in saved] == [[0.0] * 3, [2.0] * 3]


@pytest.mark.parametrize(("level", "sample"), [("L0", "bench"), ("mix", "mix")])
def test_a_program_of_mindstudio_probes_leaves_its_names_and_values(
    level: str, sample: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples = Path(__file__).resolve().parents[3] / "samples"
    program = str(samples / "programs" / "captured.py")
    monkeypatch.setattr("sys.argv", [program, str(tmp_path / "dump"), level])
    run = runpy.run_path(program, run_name="__main__")
    run["dumper"].close()
    ours, _ = read_rank_dumps(tmp_path / "dump")
    theirs = json.loads(
        next((samples / f"msprobe-26.2.0/captured/{sample}").rglob("*.json")).read_text()
    )
    assert sorted(ours.names) == sorted(theirs["data"])
    for name, entry in theirs["data"].items():
        for side in ("input_args", "output"):
            pairs = zip(ours.data[name][side], entry[side], strict=True)
            for mine, expected in pairs:
                assert mine["shape"] == expected["shape"]
                for key in ("Max", "Min") if "int" in mine["dtype"] else ("Max", "Min", "Norm"):
                    assert mine[key] == pytest.approx(expected[key], rel=1e-5), (name, key)
