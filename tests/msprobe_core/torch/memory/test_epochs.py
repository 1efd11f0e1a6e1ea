"""Whatever writes memory within a step, by whatever name: the next record says what lies there."""

from __future__ import annotations

import ctypes
import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from msprobe_core import PrecisionDebugger
from tests.msprobe_core.dump_reading import RankDump

Make = Callable[..., PrecisionDebugger]
Read = Callable[[], list[RankDump]]
SIZE = 3000
LIBRARY = torch.library.Library("msprobe_writes", "DEF")
LIBRARY.define("scale(Tensor(a!) x) -> ()")
LIBRARY.impl("scale", lambda x: torch.from_numpy(_array_of(x)).mul_(2.0).sum() and None, "CPU")


@torch.library.custom_op("msprobe_writes::declared", mutates_args=("x",))
def declared(x: torch.Tensor) -> None:
    x.mul_(2.0)


def _array_of(x: torch.Tensor) -> np.ndarray[Any, Any]:
    """The memory as an array, found by its address: nothing of torch knows of it."""
    count, address = x.numel(), x.untyped_storage().data_ptr()
    return np.frombuffer((ctypes.c_float * count).from_address(address), dtype=np.float32)


class Same(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x


class Net(nn.Module):
    """Makes memory, lets somebody write it, and reads it by two modules and a call."""

    def __init__(self, write: Callable[[torch.Tensor], object]) -> None:
        super().__init__()
        self.first, self.before, self.after = nn.Linear(1, SIZE), Same(), Same()
        self.write = write
        self.truth = torch.empty(0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            made = self.first(x)
            torch.sin(self.before(made))
            self.write(made)
            self.truth = made.clone()
            return torch.cos(self.after(made))


def foreach(x: torch.Tensor) -> None:
    torch._foreach_mul_([x], 2.0)


def assign_data(x: torch.Tensor) -> None:
    x.data = torch.full((1, SIZE), 3.0)


def storage_again(x: torch.Tensor) -> None:
    storage = x.untyped_storage()
    size = storage.nbytes()
    storage.resize_(0)
    storage.resize_(size)
    with torch.autograd._unsafe_preserve_version_counter(x):
        x.fill_(4.0)


def swapped(x: torch.Tensor) -> None:
    torch.utils.swap_tensors(x, torch.full((1, SIZE), 3.0))


def by_address(x: torch.Tensor) -> None:
    ctypes.memset(x.data_ptr(), 0, 4 * SIZE)


def in_a_thread(x: torch.Tensor) -> None:
    from threading import Thread

    thread = Thread(target=lambda: x.data.mul_(2.0))
    thread.start()
    thread.join()


def stored(x: torch.Tensor) -> None:
    x.untyped_storage().copy_(torch.full((1, SIZE), 3.0).untyped_storage())


def one_byte(x: torch.Tensor) -> None:
    x.untyped_storage()[4 * 17 + 3] = 0x60


def by_array(x: torch.Tensor) -> None:
    x.numpy()[0, 5] = 1000.0


def unscaled(x: torch.Tensor) -> None:
    torch._amp_foreach_non_finite_check_and_unscale_([x], torch.zeros(1), torch.full((1,), 0.5))


def running(x: torch.Tensor) -> None:
    F.batch_norm(torch.ones(2, SIZE) * 9, x.view(-1), torch.ones(SIZE), training=True)


def dlpack(x: torch.Tensor) -> None:
    torch.from_dlpack(x)[0, :7].mul_(2.0)


def out_of_a_view(x: torch.Tensor) -> None:
    torch.add(torch.ones(SIZE), 1.0, out=x.data.view(-1))


WRITES: dict[str, Callable[[torch.Tensor], object]] = {
    "nothing": lambda x: None,
    "zero_": lambda x: x.zero_(),
    "copy_": lambda x: x.copy_(torch.ones(SIZE)),
    "fill_ of a view": lambda x: x.view(-1).fill_(2.0),
    "detached": lambda x: x.detach().mul_(2.0),
    "part": lambda x: x[:, 7:9].mul_(100.0),
    "setitem": lambda x: x.__setitem__((0, 3), 1000.0),
    "data": lambda x: x.data.mul_(2.0),
    "part of data": lambda x: x.data[:, :3].mul_(100.0),
    "assigned data": assign_data,
    "relu in place": lambda x: F.relu(x, inplace=True),
    "dropout in place": lambda x: F.dropout(x, 0.5, inplace=True),
    "out": lambda x: torch.add(torch.ones(1, SIZE), 1.0, out=x),
    "out of data": out_of_a_view,
    "foreach": foreach,
    "unscaled": unscaled,
    "running statistics": running,
    "numpy": by_array,
    "asarray": lambda x: np.asarray(x).__imul__(2.0),
    "dlpack": dlpack,
    "address": by_address,
    "thread": in_a_thread,
    "set_": lambda x: x.set_(torch.full((1, SIZE), 3.0)),
    "storage copied": stored,
    "storage filled": lambda x: x.untyped_storage().fill_(1),
    "one byte": one_byte,
    "storage freed": storage_again,
    "swapped": swapped,
    "declared operator": declared,
    "operator": torch.ops.msprobe_writes.scale,
    "overload": torch.ops.msprobe_writes.scale.default,
    "compiled code": lambda x: _array_of(x).__imul__(2.0),
}
_UNTOUCHED = {"nothing"}


def config(tmp_path: Path, level: str, task: str) -> str:
    mode = {"summary_mode": "md5"} if task == "md5" else {}
    section = "statistics" if task == "md5" else task
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"task": section, "level": level, section: mode}))
    return str(path)


def check(record: dict[str, Any], truth: torch.Tensor, folder: Path) -> None:
    wide = truth.double()
    if "md5" in record:
        assert record["md5"] == f"{zlib.crc32(truth.numpy().tobytes()):08x}"
    if "Max" in record:
        assert record["Max"] == pytest.approx(wide.max().item(), rel=1e-6)
        assert record["Norm"] == pytest.approx(wide.double().norm().item(), rel=1e-6)
    if "data_name" in record:
        saved = torch.load(folder / "dump_tensor_data" / record["data_name"])
        assert torch.equal(saved, truth)


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("level", ["L0", "L1", "mix"])
@pytest.mark.parametrize("task", ["statistics", "tensor", "md5"])
def test_what_is_written_is_measured_again(
    write: str, level: str, task: str, debugger: Make, dumps: Read, tmp_path: Path
) -> None:
    net = Net(WRITES[write])
    recording = debugger(config_path=config(tmp_path, level, task))
    recording.start(net)
    net(torch.ones(1, 1))
    recording.stop()
    recording.step()
    (dump,) = dumps()
    assert not list(dump.path.glob("*error*"))
    readers = {"L0": ["Module.after"], "L1": ["Torch.cos"], "mix": ["Module.after", "Torch.cos"]}
    for reader in readers[level]:
        name = next(name for name in dump.names if name.startswith(f"{reader}."))
        record = dump.data[name]["input_args"][0]
        check(record, net.truth, dump.path)
        made = "Module.first" if level == "L0" else "Functional.linear"
        stale = f"{made}." if write not in _UNTOUCHED else "nothing"
        is_part = write in {"part", "part of data", "setitem", "one byte", "numpy", "dlpack"}
        if not is_part:
            assert not record.get("source", "").startswith(stale), record


@pytest.mark.parametrize("level", ["L0", "L1", "mix"])
@pytest.mark.parametrize("kind", ["flat buffer", "array", "data"])
def test_names_that_are_older_than_the_recording(
    kind: str, level: str, debugger: Make, dumps: Read
) -> None:
    """The parameters of a module are parts of a buffer, or the memory of an array."""
    net = nn.Sequential(nn.Sequential(nn.Linear(50, 50)))
    weight = net[0][0].weight
    write: Callable[[], object]
    if kind == "flat buffer":
        flat = torch.randn(5000)
        weight.data = flat[100:2600].view(50, 50)
        write = lambda: flat.mul_(2.0)  # noqa: E731
    elif kind == "array":
        array = np.ones((50, 50), dtype=np.float32)
        weight.data = torch.from_numpy(array)
        write = lambda: array.__imul__(3.0)  # noqa: E731
    else:
        alias = weight.data
        write = lambda: alias.mul_(2.0)  # noqa: E731
    seen = []
    recording = debugger(level=level)
    recording.start(net)
    with torch.no_grad():
        for _ in range(3):
            net(torch.ones(2, 50))
            seen.append(weight.double().norm().item())
            write()
    recording.stop()
    recording.step()
    data = dumps()[0].data
    for number, truth in enumerate(seen):
        if level != "L0":
            record = data[f"Functional.linear.{number}.forward"]["input_args"][1]
            assert record["Norm"] == pytest.approx(truth, rel=1e-6)
        if level != "L1":
            record = data[f"Module.0.0.Linear.forward.{number}"]["parameters"]["weight"]
            assert record["Norm"] == pytest.approx(truth, rel=1e-6)


@pytest.mark.parametrize("level", ["L0", "L1", "mix"])
def test_inference_tensors(level: str, debugger: Make, dumps: Read) -> None:
    net = Net(lambda x: x.mul_(2.0))
    recording = debugger(level=level)
    recording.start(net)
    with torch.inference_mode():
        net(torch.ones(1, 1))
    recording.stop()
    recording.step()
    (dump,) = dumps()
    name = next(n for n in dump.names if n.startswith(("Module.after.", "Torch.cos.")))
    record = dump.data[name]["input_args"][0]
    check(record, net.truth, dump.path)
    expected = {"L0": None, "L1": "Tensor.mul_.0.forward.output.0"}
    assert record.get("source") == expected.get(level, "Tensor.mul_.0.forward.output.0")


@pytest.mark.parametrize("kind", ["fused", "foreach", "single"])
def test_an_optimizer_reads_and_writes(kind: str, debugger: Make, dumps: Read) -> None:
    net = nn.Sequential(nn.Linear(40, 60))
    how = {"fused": {"fused": True}, "foreach": {"foreach": True}, "single": {"foreach": False}}
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.1, **how[kind])  # type: ignore[arg-type]
    truth = []
    recording = debugger(level="mix")
    recording.start(net)
    for _ in range(2):
        optimizer.zero_grad(set_to_none=False)
        net(torch.ones(3, 40)).square().mean().backward()
        gradient, before = net[0].weight.grad, net[0].weight.double().norm().item()
        assert gradient is not None
        norm = gradient.double().norm().item()
        optimizer.step()
        truth.append((norm, before, net[0].weight.double().norm().item()))
    recording.stop()
    recording.step()
    found = dumps()[0].head["optimizer"]
    for number, expected in enumerate(truth):
        entry = found[f"Optimizer.AdamW.step.{number}"]
        parts = [entry[key]["0.weight"]["Norm"] for key in ("input", "parameters", "output")]
        assert parts == pytest.approx(list(expected), rel=1e-6)


@pytest.mark.parametrize("level", ["L0", "L1", "mix"])
def test_gradients_after_they_are_unscaled(level: str, debugger: Make, dumps: Read) -> None:
    net = nn.Sequential(nn.Linear(40, 60))
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    recording = debugger(level=level)
    recording.start(net)
    scaled: Any = scaler.scale(net(torch.ones(3, 40)).square().mean())
    scaled.backward()
    scaler.unscale_(optimizer)
    truth = net[0].weight.grad.double().norm().item()
    if level != "L0":
        nn.utils.clip_grad_norm_(net.parameters(), 1e9)
    scaler.step(optimizer)
    recording.stop()
    recording.step()
    (dump,) = dumps()
    read = dump.head["optimizer"]["Optimizer.SGD.step.0"]["input"]["0.weight"]["Norm"]
    assert read == pytest.approx(truth, rel=1e-6)
    for name in (name for name in dump.names if "norm" in name and name.endswith("forward")):
        record = dump.data[name]["input_args"][0]
        record = record[0] if isinstance(record, list) else record
        if record["shape"] == [60, 40]:
            assert record["Norm"] == pytest.approx(truth, rel=1e-6)
