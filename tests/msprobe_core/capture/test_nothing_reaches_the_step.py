"""Whatever recording meets, the user's step goes on as without it, and the dump is whole."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from msprobe_core import PrecisionDebugger
from msprobe_core.torch.record.tensor_files import file_name
from msprobe_core.writer.growing_json import GrowingJson
from tests.msprobe_core.dump_reading import RankDump
from tests.msprobe_core.models import Net, one_step

Make = Callable[..., PrecisionDebugger]
Read = Callable[[], list[RankDump]]


class Hostile(torch.Tensor):
    """Every attribute that is asked for by name raises, once it is armed."""

    def __getattribute__(self, name: str) -> Any:
        if armed and name not in ("__class__", "__dict__"):
            raise RuntimeError(f"no {name} for you")
        return super().__getattribute__(name)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return 7


armed = False


class Raising(Mapping[str, Any]):
    def __getitem__(self, key: str) -> Any:
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("no keys")

    def __len__(self) -> int:
        return 1


class Takes(nn.Module):
    def forward(self, value: object, **more: object) -> object:
        return value


class Holder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.takes = Takes()

    def forward(self, value: object) -> object:
        return self.takes(value, also=value)


@pytest.mark.parametrize("level", ["L0", "L1", "mix"])
@pytest.mark.parametrize("task", ["statistics", "tensor"])
def test_tensors_whose_every_attribute_raises(
    level: str, task: str, debugger: Make, dumps: Read
) -> None:
    global armed  # noqa: PLW0603
    model, value = Holder(), torch.ones(3).as_subclass(Hostile)
    target = debugger(level=level, task=task)
    armed = True
    try:
        expected = type(torch.exp(value))
        target.start(model)
        assert model(value) is value
        assert type(torch.exp(value)) is expected
        assert model([{"deep": value}]) is not None
    finally:
        armed = False
    target.stop()
    target.step()
    assert len(dumps()) == 1


@pytest.mark.parametrize("level", ["L0", "mix"])
def test_containers_that_raise(level: str, debugger: Make, dumps: Read) -> None:
    model, value = Holder(), Raising()
    found: list[object] = []
    one_step(debugger(level=level), model, lambda: found.append(model(value)))
    assert found[0] is value
    dump = dumps()[0]
    assert dump.data["Module.takes.Takes.forward.0"]["output"] == []
    assert "no keys" in (dump.path / "dump_error_info.log").read_text()


@pytest.mark.parametrize("level", ["L0", "L1", "mix"])
def test_parameters_without_elements(level: str, debugger: Make, dumps: Read) -> None:
    model = nn.Sequential(nn.LazyLinear(4))
    found: list[torch.Tensor] = []
    one_step(debugger(level=level), model, lambda: found.append(model(torch.randn(3, 7))))
    assert found[0].shape == (3, 4)
    assert len(dumps()) == 1


class Count(TorchFunctionMode):
    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.calls += 1
        return func(*args, **(kwargs or {}))


def test_a_second_token_range_is_recorded_and_the_users_mode_stays(
    debugger: Make, dumps: Read
) -> None:
    model, target = Net(), debugger(level="mix")
    with Count() as mode:
        for first in (0, 1):
            target.start(model=model, token_range=[first, first])
            for _ in range(3):
                model(torch.ones(1, 4))
            target.stop()
        before = mode.calls
        torch.ones(2).exp()
        assert mode.calls > before
    target.step()
    forward = [n for n in dumps()[0].names if n.startswith("Module.first") and ".forward." in n]
    assert len(forward) == 2


def test_names_that_no_file_can_have(debugger: Make, dumps: Read) -> None:
    keys = ["a/b", "x" * 300, "\0", "ü" * 200]
    target = debugger(level="debug", task="tensor")
    target.save({key: torch.full((2,), float(n)) for n, key in enumerate(keys)}, "held")
    target.step()
    dump = dumps()[0]
    held = dump.data["held.0.debug"]
    for number, key in enumerate(keys):
        saved = torch.load(dump.path / "dump_tensor_data" / held[key]["data_name"])
        assert saved.tolist() == [number, number]


def test_names_that_a_file_can_have_stay() -> None:
    assert file_name("Torch.exp.0.forward.input.0") == "Torch.exp.0.forward.input.0.pt"
    assert file_name("模块.forward.0") == "模块.forward.0.pt"
    assert file_name("a/b") != file_name("a_b") != file_name("a\\b") != file_name("a/b")


def test_a_file_is_closed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = GrowingJson(tmp_path / "file.json", "{", "}", "}")
    closed: list[int] = []
    close = os.close
    monkeypatch.setattr(os, "close", lambda number: (closed.append(number), close(number)))
    monkeypatch.setattr(os, "ftruncate", lambda *_: (_ for _ in ()).throw(OSError(28, "full")))
    with pytest.raises(OSError, match="full"):
        file.close()
    file.close(complete=False)
    assert len(closed) == 1


def test_a_folder_that_another_rank_has_removed(debugger: Make, tmp_path: Path) -> None:
    import shutil

    target = debugger(level="mix")
    target.start(Net())
    target.stop()
    shutil.rmtree(tmp_path / "dump" / "step0")
    target.step(dump=False)
    assert not (tmp_path / "dump" / "step0").exists()


def test_save_names_the_line_that_called_it(debugger: Make, dumps: Read) -> None:
    target = debugger(level="debug")
    target.save(torch.ones(2), "mine")
    PrecisionDebugger.save(torch.ones(2), "mine")
    target.step()
    for number in range(2):
        assert Path(__file__).name in dumps()[0].stack_of(f"mine.{number}.debug")[0]


@pytest.mark.parametrize("task", ["statistics", "tensor"])
def test_values_inside_a_transform(task: str, debugger: Make, dumps: Read) -> None:
    def run() -> None:
        torch.func.grad(lambda x: (x * 2).sum())(torch.ones(3))
        torch.func.vmap(lambda x: x.exp())(torch.zeros(4, 3))

    target = debugger(level="L1", task=task)
    target.start()
    run()
    target.stop()
    target.step()
    dump = dumps()[0]
    assert dump.data["Tensor.__mul__.0.forward"]["input_args"][0]["Max"] == 1.0
    assert dump.data["Tensor.exp.0.forward"]["output"][0]["Max"] == 1.0
    assert not (dump.path / "dump_error_info.log").exists()


@pytest.mark.parametrize("level", ["L0", "mix"])
@pytest.mark.parametrize("how", ["clamp", "assign", "assign to the input", "numpy"])
def test_writes_behind_the_version_are_seen(
    level: str, how: str, debugger: Make, dumps: Read
) -> None:
    model, x = nn.Sequential(nn.Linear(4, 4)), torch.ones(2, 4)

    def run() -> None:
        with torch.no_grad():
            model(x)
            if how == "clamp":
                model[0].weight.data.clamp_(-0.01, 0.01)
            elif how == "assign":
                model[0].weight.data = torch.zeros(4, 4)
            elif how == "numpy":
                x.numpy()[:] = 9
            else:
                x.data = torch.full((2, 4), 7.0)
            model(x)

    one_step(debugger(level=level), model, run)
    entry = dumps()[0].data["Module.0.Linear.forward.1"]
    assert entry["parameters"]["weight"]["Max"] == pytest.approx(model[0].weight.max().item())
    assert entry["input_args"][0]["Max"] == x.max().item()
    assert "data" not in vars(torch.Tensor) or "numpy" not in vars(torch.Tensor)


def test_a_submodule_compiled_in_place_is_compiled_afterwards(
    debugger: Make, dumps: Read, tmp_path: Path
) -> None:
    runs = 0

    def backend(graph: Any, _: object) -> Callable[..., Any]:
        def run(*args: Any) -> Any:
            nonlocal runs
            runs += 1
            return graph.forward(*args)

        return run

    model = nn.Sequential(Net())
    model[0].compile(backend=backend)
    for _ in range(10):
        one_step(debugger(level="mix"), model, lambda: model(torch.ones(1, 4)).sum().backward())
    assert "Module.0.Net.forward.0" in dumps()[0].names
    before = runs
    model(torch.ones(1, 4))
    assert runs == before + 1


def test_the_finite_mask_of_attention_is_finite(
    debugger: Make, dumps: Read, tmp_path: Path
) -> None:
    least = torch.finfo(torch.float32).min
    config = tmp_path / "config.json"
    for task in ("statistics", "overflow_check"):
        config.write_text(json.dumps({"task": task, "level": "L1"}))
        target = debugger(config_path=str(config))
        target.start()
        torch.where(torch.ones(40, 40).tril() > 0, torch.ones(40, 40), least)
        target.stop()
        target.step()
        (dump,) = [d for d in dumps() if d.head["task"] == task]
        if task == "overflow_check":
            assert dump.names == []
            continue
        found = dump.data["Torch.where.0.forward"]["output"][0]
        assert abs(found["Mean"]) < 3.5e38 and abs(found["Norm"]) < 1e41
        assert "inf_count" not in found


class Updates(torch.optim.Optimizer):
    """An optimizer over parameters that it does not look at."""

    def __init__(self, parameters: list[Any]) -> None:
        super().__init__([torch.zeros(1, requires_grad=True)], {})
        self.param_groups[0]["params"] = parameters

    def step(self, closure: Any = None) -> str:  # type: ignore[override]
        return "updated"


class HoldsHostile(nn.Module):
    """One parameter that raises, beside one that does not."""

    def __init__(self) -> None:
        super().__init__()
        self.sound = nn.Linear(2, 2)
        self.hostile = nn.Module()
        self.hostile._parameters["weight"] = torch.ones(3).as_subclass(Hostile)  # type: ignore[assignment]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.sound(x)  # type: ignore[no-any-return]


@pytest.mark.parametrize("level", ["L0", "L1", "mix"])
def test_an_optimizer_of_parameters_that_raise(level: str, debugger: Make, dumps: Read) -> None:
    global armed  # noqa: PLW0603
    model = HoldsHostile()
    hostile = model.hostile._parameters["weight"]
    optimizer = Updates([hostile, model.sound.weight])
    target, x = debugger(level=level), torch.ones(1, 2)
    armed = True
    try:
        target.start(model)
        model(x).sum().backward()
        assert optimizer.step() == "updated"
        target.save(hostile, "hostile")
    finally:
        armed = False
    target.stop()
    target.step()
    dump = dumps()[0]
    step = dump.head["optimizer"]["Optimizer.Updates.step.0"]
    assert list(step["input"]) == ["sound.weight"]
    gradient = model.sound.weight.grad
    assert gradient is not None
    assert step["input"]["sound.weight"]["Norm"] == pytest.approx(gradient.norm().item())
    assert "gradient of hostile.weight" in (dump.path / "dump_error_info.log").read_text()


def test_a_token_range_whose_hooks_fail(
    debugger: Make, dumps: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    from msprobe_core.torch.torch_watch import TorchWatch

    def fail(*_: object) -> None:
        raise RuntimeError("no hooks")

    model, target = Net(), debugger(level="mix")
    monkeypatch.setattr(TorchWatch, "start", fail)
    target.start(model=model, token_range=[0, 0])
    assert model(torch.ones(1, 4)).shape == (1, 4)
    target.stop()
    target.step()
    assert "no hooks" in (dumps()[0].path / "dump_error_info.log").read_text()


def test_a_token_range_of_values_that_raise(debugger: Make, dumps: Read) -> None:
    global armed  # noqa: PLW0603
    model, value = Holder(), torch.ones(3).as_subclass(Hostile)
    target = debugger(level="mix")
    target.start(model=model, token_range=[0, 1])
    armed = True
    try:
        for _ in range(3):
            assert model(value) is value
    finally:
        armed = False
    target.stop()
    target.step()
    entries = [name for name in dumps()[0].names if name.startswith("Module.takes")]
    assert entries == ["Module.takes.Takes.forward.0", "Module.takes.Takes.forward.1"]


@pytest.mark.parametrize("level", ["L0", "L1", "mix"])
@pytest.mark.parametrize("broken", ["record", "written", "allocated", "read_back"])
def test_a_book_that_fails_everywhere(
    level: str, broken: str, debugger: Make, dumps: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever our own code raises, forward, backward and the optimizer's step end as without."""
    from msprobe_core.torch.record.tensors import TensorBook

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("ours")

    monkeypatch.setattr(TensorBook, broken, fail)
    torch.manual_seed(0)
    model, plain = Net(), Net()
    plain.load_state_dict(model.state_dict())
    for each in (model, plain):
        optimizer = torch.optim.SGD(each.parameters(), lr=0.1)
        target = debugger(level=level) if each is model else None
        if target is not None:
            target.start(model)
        x = torch.empty(2, 4)
        x.fill_(1.0)
        x.data.add_(1.0)
        x.resize_(3, 4)
        x.numpy()[:] = 2.0
        each(x).sum().backward()
        optimizer.step()
        if target is not None:
            target.save(x, "x")
            target.stop()
            target.step()
    for one, other in zip(model.parameters(), plain.parameters(), strict=True):
        assert one.equal(other)
    assert len(dumps()) == 1
