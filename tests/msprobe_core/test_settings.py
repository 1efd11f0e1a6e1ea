"""Settings at work in a whole run: precision, checksums, saving, devices, what matched nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import msprobe.pytorch as face
from msprobe_core import PrecisionDebugger
from tests.msprobe_core.dump_reading import RankDump, tensors

Make = Callable[..., PrecisionDebugger]
Read = Callable[[], list[RankDump]]


class Keep(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.keep = Keep()
        self.inside = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
        self.last = nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.inside(self.keep(x)))


@pytest.fixture
def run(debugger: Make, tmp_path: Path) -> Callable[..., PrecisionDebugger]:
    """Records one step of a model with settings from a file."""

    def one_step(
        model: nn.Module | None = None, value: torch.Tensor | None = None, **settings: Any
    ) -> PrecisionDebugger:
        path = tmp_path / "config.json"
        path.write_text(json.dumps(settings), encoding="utf-8")
        target = debugger(config_path=str(path), dump_path=str(tmp_path / "dump"))
        model = Net() if model is None else model
        target.start(model)
        model(torch.ones(2, 4) if value is None else value)
        target.stop()
        target.step()
        return target

    return one_step


def test_the_face_has_what_users_import() -> None:
    for name in ("PrecisionDebugger", "seed_all", "save", "module_dump", "module_dump_end"):
        assert name in face.__all__
    for name in (*face.__all__, "random_save", "AclGraphDumper"):
        assert callable(getattr(face, name))


def test_high_precision_sums_in_double(run: Callable[..., object], dumps: Read) -> None:
    value = torch.cat([torch.full((100_000,), 1e8), torch.ones(3)])
    for precision in ("low", "high"):
        run(Keepers(), value, level="L0", precision=precision)
    low, high = (next(tensors(d.data["Module.keep.Keep.forward.0"])) for d in sorted_(dumps()))
    exact = value.double()
    assert high["Mean"] == pytest.approx(exact.mean().item(), rel=1e-15)
    assert high["Norm"] == pytest.approx(exact.norm().item(), rel=1e-15)
    assert low["Norm"] == pytest.approx(high["Norm"], rel=1e-5)


class Keepers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.keep = Keep()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.keep(x)


def sorted_(found: list[RankDump]) -> list[RankDump]:
    """The dump that was kept aside first, then the newest."""
    return sorted(found, key=lambda dump: "previous" not in dump.path.name)


@pytest.mark.parametrize("mode", ["md5", "xor"])
@pytest.mark.parametrize("task", ["statistics", "tensor"])
def test_checksums_of_a_run(task: str, mode: str, run: Callable[..., object], dumps: Read) -> None:
    run(task=task, level="mix", **{task: {"summary_mode": mode}})
    for record in tensors(dumps()[0].data):
        assert len(record["md5"]) == (8 if mode == "md5" else 18)  # 0x and 64 bits
        assert ("Max" in record) == (mode == "md5")
        assert ("data_name" in record) == (task == "tensor")


def test_structure_has_names_and_stacks_only(run: Callable[..., object], dumps: Read) -> None:
    run(task="structure", level="mix")
    (dump,) = dumps()
    assert dump.data == {}
    assert dump.construct["Functional.linear.0.forward"] == "Module.inside.0.Linear.forward.0"
    assert "Functional.linear.0.forward" in {n for names, _ in dump.stack.values() for n in names}


def test_asynchronous_statistics_are_the_same(run: Callable[..., object], dumps: Read) -> None:
    torch.manual_seed(2)
    model = Net()
    run(model, level="mix")
    run(model, level="mix", async_dump=True)
    first, second = sorted_(dumps())
    assert first.data == second.data
    assert first.construct == second.construct


def test_a_scope_that_ends_on_a_container_has_its_inside(
    run: Callable[..., object], dumps: Read
) -> None:
    names = ["Module.keep.Keep.forward.0", "Module.inside.Sequential.forward.0"]
    run(level="mix", statistics={"scope": names})
    assert dumps()[0].names == [
        "Module.keep.Keep.forward.0",
        "Functional.linear.0.forward",
        "Module.inside.0.Linear.forward.0",
        "Functional.relu.0.forward",
        "Module.inside.1.ReLU.forward.0",
        "Module.inside.Sequential.forward.0",
    ]


ODD: dict[str, Callable[[], torch.Tensor]] = {
    "float8": lambda: torch.ones(3).to(torch.float8_e4m3fn),
    "uint16": lambda: torch.arange(3).to(torch.uint16),
    "sparse": lambda: torch.eye(3).to_sparse(),
    "nested": lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
    "quantised": lambda: torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8),
    "complex": lambda: torch.ones(3, dtype=torch.complex64),
    "meta": lambda: torch.ones(3, device="meta"),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("task", ["statistics", "tensor"])
@pytest.mark.parametrize("kind", ODD)
def test_odd_tensors_pass_through_a_module(
    kind: str, task: str, run: Callable[..., object], dumps: Read
) -> None:
    value = ODD[kind]()
    run(Keepers(), value, level="L0", task=task)
    (dump,) = dumps()
    record = dump.data["Module.keep.Keep.forward.0"]["output"][0]
    assert record["dtype"] == str(value.dtype)
    assert not (dump.path / "dump_error_info.log").exists()
    if task == "tensor" and kind in ("float8", "uint16", "complex"):
        saved = torch.load(dump.path / "dump_tensor_data" / record["data_name"])
        assert saved.view(torch.uint8).equal(value.view(torch.uint8))


def test_a_value_without_memory_costs_its_numbers_alone(
    run: Callable[..., object], dumps: Read
) -> None:
    class Unreadable(torch.Tensor):
        @classmethod
        def __torch_dispatch__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            raise ValueError("no elements")

    class Twice(Keepers):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.keep(torch.Tensor._make_wrapper_subclass(Unreadable, (2,)))
            return self.keep(x)

    run(Twice(), level="L0")
    (dump,) = dumps()
    assert dump.data["Module.keep.Keep.forward.1"]["output"][0]["Max"] == 1.0
    assert dump.data["Module.keep.Keep.forward.0"]["output"][0]["Max"] is None
    assert not (dump.path / "dump_error_info.log").exists()  # nobody asked it for elements


def test_a_tensor_list_that_matched_nothing_is_said(
    run: Callable[..., PrecisionDebugger], capsys: pytest.CaptureFixture[str]
) -> None:
    run(level="mix", statistics={"tensor_list": ["nowhere"]}).close()
    assert "no tensor was saved: no entry matched ['nowhere']" in capsys.readouterr().err


def test_a_rank_that_is_not_selected_is_said(
    debugger: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"rank": [5]}), encoding="utf-8")
    target = debugger(config_path=str(path))
    target.start(rank_id=1)
    target.stop()
    target.step()
    target.close()
    assert "rank selects [5], this is 1" in capsys.readouterr().err
    assert not (tmp_path / "dump").exists()
