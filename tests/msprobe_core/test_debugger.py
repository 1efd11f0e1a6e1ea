"""The public calls of the dumper, as users and inference engines make them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import nn

from msprobe_core import PrecisionDebugger, module_dump, module_dump_end
from msprobe_core.errors import LifecycleError
from tests.msprobe_core.dump_reading import RankDump, tensors
from tests.msprobe_core.models import Net

Make = Callable[..., PrecisionDebugger]
Read = Callable[[], list[RankDump]]


def run(target: PrecisionDebugger, model: nn.Module, backward: bool = True) -> None:
    target.start(model)
    loss = model(torch.ones(2, 4)).sum()
    if backward:
        loss.backward()
    target.stop()
    target.step()


def configured(folder: Path, **fields: Any) -> str:
    path = folder / "config.json"
    path.write_text(json.dumps(fields), encoding="utf-8")
    return str(path)


def test_importing_the_face_is_light() -> None:
    code = "import msprobe, msprobe_core, sys; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_importing_the_dumper_loads_no_compiler() -> None:
    """Dynamo with sympy takes more than a second and 150 MB: only who records graphs needs it."""
    code = "import msprobe.pytorch, sys; assert not {'torch._dynamo', 'sympy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_class_acts_as_the_instance(debugger: Make, dumps: Read) -> None:
    with pytest.raises(LifecycleError, match="before there is a debugger"):
        PrecisionDebugger.start()
    debugger(level="mix")
    model = Net()
    PrecisionDebugger.start(model)
    model(torch.ones(1, 4))
    PrecisionDebugger.stop()
    PrecisionDebugger.step()
    assert "Module.second.Linear.forward.0" in dumps()[0].names


def test_a_model_is_needed_for_modules(debugger: Make) -> None:
    with pytest.raises(LifecycleError, match="level 'L0' records modules; call start"):
        debugger(level="L0").start()


def test_a_second_debugger_says_that_it_replaces_the_first(
    debugger: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = debugger(level="L1")
    second = debugger(level="L0", dump_path=str(tmp_path / "other"))
    assert "replaces the first" in capsys.readouterr().err
    assert PrecisionDebugger.current is second
    run(second, Net())
    assert (tmp_path / "other" / "step0").is_dir()
    second.start(Net())
    with pytest.raises(LifecycleError, match="call stop"):
        debugger(level="L1")
    second.stop()
    first.close()


def test_steps_ranks_and_selection(debugger: Make, tmp_path: Path) -> None:
    target = debugger(level="L0", step=[5, "7-8"])
    target.set_init_step(4)
    model = Net()
    for _ in range(6):
        target.start(model=model, rank_id=2)
        model(torch.ones(1, 4))
        target.stop()
        target.step()
    found = sorted(str(p.relative_to(tmp_path / "dump")) for p in (tmp_path / "dump").glob("*/*"))
    assert found == ["step5/rank2", "step7/rank2", "step8/rank2"]
    with pytest.raises(LifecycleError, match="rank_id"):
        target.start(model, rank_id=-1)
    with pytest.raises(LifecycleError, match="set_init_step"):
        target.set_init_step(-1)


def test_what_inference_engines_call(debugger: Make, dumps: Read, tmp_path: Path) -> None:
    target = debugger(level="mix")
    model = Net()
    target.start(model=model, scheduled_tokens={"request-1": 3})
    model(torch.ones(1, 4))
    target.stop()
    target.step()
    assert dumps()[0].head["scheduled_tokens"] == {"request-1": 3}
    target.start(model=model, rank_id=0)
    model(torch.ones(1, 4))
    target.stop()
    target.step(dump=False)
    assert not (tmp_path / "dump" / "step1").exists()
    target.config.dump_path = str(tmp_path / "decode")
    assert target.service.config.dump_path == str(tmp_path / "decode")
    target.service._reset_status()
    run(target, model, backward=False)
    assert (tmp_path / "decode" / "step0").is_dir()


def test_start_and_stop_go_on_in_one_step(debugger: Make, dumps: Read) -> None:
    target = debugger(level="L1")
    for _ in range(2):
        target.start()
        torch.ones(2).exp()
        target.stop()
        torch.ones(2).sin()
    target.step()
    assert dumps()[0].names == ["Tensor.exp.0.forward", "Tensor.exp.1.forward"]
    assert dumps()[0].construct == {}


def test_recording_as_a_with_statement(debugger: Make, dumps: Read) -> None:
    target = debugger(level="mix")
    model = Net()
    for _ in range(2):
        with target.recording(model):
            model(torch.ones(1, 4))
    assert len(dumps()) == 2
    target.close()
    assert PrecisionDebugger.current is None
    target.start(model)
    assert len(dumps()) == 2


def test_a_with_statement_takes_what_start_takes(debugger: Make, dumps: Read) -> None:
    target, model = debugger(level="mix"), Net()
    given = {"axes": {"dp": {"rank": 1, "size": 2, "ranks": [0, 1]}}}
    tokens = {"request": [1, 2]}
    with target.recording(model, rank_id=1, scheduled_tokens=tokens, parallel=given):
        model(torch.ones(2, 4))
    (dump,) = dumps()
    assert dump.path.name == "rank1"
    assert dump.head["scheduled_tokens"] == tokens
    assert dump.head["parallel"]["axes"] == given["axes"]


def test_save_records_values_and_gradients(debugger: Make, dumps: Read) -> None:
    target = debugger(level="debug")
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    PrecisionDebugger.save({"a": y, "b": 3}, "mine")
    target.save(y, "mine", save_backward=False)
    y.sum().backward()
    target.step()
    dump = dumps()[0]
    assert dump.names == ["mine.0.debug", "mine_grad.0.debug", "mine.1.debug"]
    assert dump.data["mine.0.debug"]["a"]["Max"] == 2.0
    assert dump.data["mine_grad.0.debug"]["a"]["Max"] == 1.0
    assert "test_debugger.py" in dump.stack_of("mine.0.debug")[0]


def test_custom_functions(debugger: Make, dumps: Read) -> None:
    package = ModuleType("package")

    def compute(x: torch.Tensor, scale: float = 1.0) -> torch.Tensor:
        return torch.sin(x) * scale

    package.compute = compute  # type: ignore[attr-defined]
    target = debugger(level="L1")
    with pytest.raises(LifecycleError, match="has no function 'none'"):
        target.register_custom_api(package, "none")
    target.register_custom_api(module=package, api="compute")
    x = torch.ones(2, requires_grad=True)
    target.start()
    package.compute(x, scale=2.0).sum().backward()
    target.stop()
    assert package.compute is compute
    target.step()
    names = dumps()[0].names
    assert names[0] == "package.compute.0.forward" and "package.compute.0.backward" in names
    assert not any("sin" in name for name in names)
    target.restore_custom_api(package, "compute")
    with pytest.raises(LifecycleError, match="is not registered"):
        target.restore_custom_api(package, "compute")


def test_one_module_alone(debugger: Make, dumps: Read) -> None:
    target = debugger(level="L1")
    model = Net()
    target.start()
    x = torch.ones(2, 4).exp()
    module_dump(model, "MyNet")
    y = model(x)
    module_dump_end()
    y.sum()
    target.stop()
    target.step()
    names = dumps()[0].names
    assert names == ["Tensor.exp.0.forward", "Module.MyNet.Net.forward.0", "Tensor.sum.0.forward"]


def test_scope_and_list(debugger: Make, dumps: Read, tmp_path: Path) -> None:
    def names_of(**section: Any) -> list[str]:
        path = configured(tmp_path, level="mix", statistics=section)
        run(debugger(config_path=path, dump_path=str(tmp_path / "dump")), Net())
        found = dumps()[-1].names
        for dump in dumps():
            dump.path.rename(tmp_path / f"seen{len(list(tmp_path.iterdir()))}")
        return found

    inside = names_of(scope=["Module.first.Linear.forward.0", "Module.first.Linear.forward.0"])
    assert inside == ["Functional.linear.0.forward", "Module.first.Linear.forward.0"]
    between = names_of(scope=["Torch.relu.0.forward", "Module.second.Linear.forward.0"])
    assert between == [
        "Torch.relu.0.forward",
        "Functional.linear.1.forward",
        "Module.second.Linear.forward.0",
    ]
    assert names_of(list=["relu"]) == ["Torch.relu.0.forward", "Torch.relu.0.backward"]
    assert names_of(list=["Module.second.Linear.forward.0"]) == [
        "Functional.linear.1.forward",
        "Module.second.Linear.forward.0",
    ]
    kept = names_of(data_mode=["backward"])
    assert kept and all(".backward" in name or "parameters_grad" in name for name in kept)


def test_data_mode_keeps_one_side(debugger: Make, dumps: Read, tmp_path: Path) -> None:
    path = configured(tmp_path, level="mix", statistics={"data_mode": ["forward", "input"]})
    run(debugger(config_path=path, dump_path=str(tmp_path / "dump")), Net())
    entry = dumps()[0].data["Functional.linear.0.forward"]
    assert set(entry) == {"input_args", "input_kwargs"}
    assert not any("backward" in name for name in dumps()[0].names)


def test_overflow_check_keeps_what_is_abnormal(debugger: Make, dumps: Read, tmp_path: Path) -> None:
    path = configured(
        tmp_path, task="overflow_check", level="L1", overflow_check={"check_mode": "all"}
    )
    target = debugger(config_path=path, dump_path=str(tmp_path / "dump"))
    target.start()
    x = torch.tensor([-1.0, 2.0])
    x.exp()
    y = torch.log(x)
    y.sin()
    torch.full((2,), torch.finfo(torch.float16).max, dtype=torch.float16).neg()
    target.stop()
    target.step()
    dump = dumps()[0]
    assert dump.names == ["Torch.log.0.forward", "Tensor.sin.0.forward", "Tensor.neg.0.forward"]
    assert next(tensors(dump.data["Torch.log.0.forward"]["output"]))["nan_count"] == 1


def test_tensor_list_saves_beside_statistics(debugger: Make, dumps: Read, tmp_path: Path) -> None:
    path = configured(tmp_path, level="L1", statistics={"tensor_list": ["relu"]})
    run(debugger(config_path=path, dump_path=str(tmp_path / "dump")), Net())
    dump = dumps()[0]
    files = {p.name for p in (dump.path / "dump_tensor_data").iterdir()}
    assert files == {
        r["data_name"] for n in dump.names if "relu" in n for r in tensors(dump.data[n])
    }
    assert all("data_name" not in r for r in tensors(dump.data["Functional.linear.0.forward"]))


def test_bench_path_saves_what_differs(
    debugger: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def once(where: str, scale: float, **section: Any) -> Path:
        section = {"summary_mode": "md5", **section}
        task = "tensor" if "bench_path" in section else "statistics"
        path = configured(tmp_path, task=task, level="L1", **{task: section})
        target = debugger(config_path=path, dump_path=str(tmp_path / where))
        for _ in range(2):
            target.start()
            x = torch.arange(4.0)
            (x.sin() * scale).cos()
            target.stop()
            target.step()
        return tmp_path / where

    first = once("first", 1.0)
    for folder in (first / "step1").iterdir():
        folder.rename(first / "gone")
    second = once("second", 2.0, bench_path=str(first), diff_nums=1)
    saved = sorted(p.name for p in second.glob("step0/*/dump_tensor_data/*"))
    assert saved == ["Tensor.__mul__.0.forward.output.0.pt"]
    assert "nothing is compared in this step" in capsys.readouterr().err


def test_dump_enable_reads_the_file_again(debugger: Make, dumps: Read, tmp_path: Path) -> None:
    path = configured(tmp_path, level="L1", dump_enable=False)
    target = debugger(config_path=path, dump_path=str(tmp_path / "dump"))
    run(target, Net())
    configured(tmp_path, level="mix", dump_enable=True)
    run(target, Net())
    (tmp_path / "config.json").write_text("{", encoding="utf-8")
    run(target, Net())
    assert [dump.path.parent.name for dump in dumps()] == ["step1", "step2"]
    assert dumps()[0].head["level"] == "mix"


def test_extra_info_false_writes_one_file(debugger: Make, dumps: Read, tmp_path: Path) -> None:
    path = configured(tmp_path, level="mix", extra_info=False)
    run(debugger(config_path=path, dump_path=str(tmp_path / "dump")), Net())
    assert [p.name for p in dumps()[0].path.iterdir()] == ["dump.json"]


def test_asynchronous_dump(debugger: Make, dumps: Read, tmp_path: Path) -> None:
    section = {"list": ["relu"]}
    path = configured(tmp_path, task="tensor", level="L1", async_dump=True, tensor=section)
    run(debugger(config_path=path, dump_path=str(tmp_path / "dump")), Net())
    (dump,) = dumps()
    for record in tensors(dump.data):
        saved = torch.load(dump.path / "dump_tensor_data" / record["data_name"])
        assert saved.max().item() == record["Max"]


def test_risk_levels(debugger: Make, dumps: Read, tmp_path: Path) -> None:
    def names_at(risk: str) -> set[str]:
        path = configured(tmp_path, level="L1", risk_level=risk)
        where = tmp_path / risk
        target = debugger(config_path=path, dump_path=str(where))
        target.start()
        x = torch.ones(2, 2)
        x.reshape(4)[0]
        torch.relu(nn.functional.linear(x, x))
        target.stop()
        target.step()
        head = json.loads(next(where.glob("step0/*/dump.json")).read_text())
        return set(head["data"])

    core, focus, everything = names_at("CORE"), names_at("FOCUS"), names_at("ALL")
    assert core == {"Functional.linear.0.forward"}
    assert focus == core | {"Torch.relu.0.forward"}
    assert everything >= focus | {"Tensor.reshape.0.forward", "Tensor.__getitem__.0.forward"}


def test_risk_level_all_sees_custom_autograd_and_operators(
    debugger: Make, dumps: Read, tmp_path: Path
) -> None:
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x * 2

        @staticmethod
        def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
            return gradients[0] * 2

    path = configured(tmp_path, level="L1", risk_level="ALL")
    target = debugger(config_path=path, dump_path=str(tmp_path / "dump"))
    apply = torch.autograd.Function.apply
    target.start()
    x = torch.ones(2, requires_grad=True)
    y = Double.apply(x)
    torch.ops.aten.sin(y).sum().backward()
    target.stop()
    target.step()
    assert torch.autograd.Function.apply == apply
    assert x.grad is not None
    names = dumps()[0].names
    for wanted in ("Torch.autograd.Double.0.forward", "Aten.sin.0.forward"):
        assert wanted in names
    assert "Torch.autograd.Double.0.backward" in names


def test_calls_without_values_say_where_they_were_made(
    debugger: Make, dumps: Read, tmp_path: Path
) -> None:
    recording = debugger(config_path=configured(tmp_path, level="mix"))
    recording.start(model=torch.nn.Linear(2, 2))
    torch.cat([torch.ones(2), torch.ones(2)])
    recording.stop()
    recording.step()
    (dump,) = dumps()
    assert "Torch.cat.0.forward" not in dump.data
    (frame, *_) = dump.stack_of("Torch.cat.0.forward")
    assert "torch.cat([torch.ones(2), torch.ones(2)])" in frame
