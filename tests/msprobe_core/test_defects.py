"""What an earlier state of the dumper got wrong, each beside an oracle of torch's or in float64.

The others of that list stand with what they are about: `capture/test_hook_order` (hooks of the
user's), `capture/test_nothing_reaches_the_step` (lazy parameters, stale values, transforms, modules
compiled in place), `torch/names/test_operands` (reflected operators), `torch/record/test_tensors`
(norms by layout), `torch/watch/test_gradients` (two passes through one graph).
"""

from __future__ import annotations

import copy
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import builder
from builder.dump.inspection.inspect_dump import inspect_dump
from msprobe_core import PrecisionDebugger
from tests.msprobe_core.conftest import ROOT
from tests.msprobe_core.dump_reading import RankDump
from tests.msprobe_core.models import one_step
from tests.msprobe_core.torch.watch import test_module_gradients as shapes
from tests.msprobe_core.torch.watch.test_module_gradients import Tapped, leaves, same

Make = Callable[..., PrecisionDebugger]
Read = Callable[[], list[RankDump]]
Tensor = torch.Tensor


class Dropping(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc, self.drop = nn.Linear(4, 4), nn.Dropout(0.0)

    def forward(self, x: Tensor) -> Tensor:
        h = self.fc(x)
        return (self.drop(h) * 2 + h * 3).sum()  # type: ignore[no-any-return]


def test_a_module_that_does_nothing(debugger: Make, dumps: Read) -> None:
    torch.manual_seed(0)
    model, seen = Dropping(), {}
    twin = copy.deepcopy(model)
    twin.drop.register_full_backward_hook(lambda _, sent, got: seen.update(sent=sent, got=got))
    twin(torch.ones(3, 4)).backward()
    one_step(debugger(level="mix"), model, lambda: model(torch.ones(3, 4)).backward())
    data = dumps()[0].data
    entry = data["Module.drop.Dropout.backward.0"]
    assert same(entry["input"][0], seen["got"][0]) and same(entry["output"][0], seen["sent"][0])
    assert "Functional.dropout.0.backward" not in data  # the node is that of the linear layer


class Scales(nn.Module):
    def forward(self, x: Tensor, scale: Tensor | None = None) -> Tensor:
        assert scale is not None
        return x * scale


class HasKeywords(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.k, self.c = nn.Linear(4, 4), Scales(), nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.c(self.k(x=self.a(x), scale=torch.tensor(2.0))).sum()  # type: ignore[no-any-return]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("level", ["L0", "mix"])
@pytest.mark.parametrize("compiled", [False, True])
def test_keywords_beside_a_compiled_module(
    compiled: bool, level: str, debugger: Make, dumps: Read
) -> None:
    torch.manual_seed(0)
    model, seen = HasKeywords(), {}
    twin = copy.deepcopy(model)
    twin.a.register_full_backward_hook(lambda _, __, got: seen.update(gradient=got[0]))
    twin(torch.ones(3, 4)).backward()
    if compiled:
        model.c = torch.compile(model.c, backend="eager")  # type: ignore[assignment]
    one_step(debugger(level=level), model, lambda: model(torch.ones(3, 4)).backward())
    data = dumps()[0].data
    keywords = data["Module.k.Scales.forward.0"]["input_kwargs"]
    assert list(keywords) == ["x", "scale"] and keywords["scale"]["Max"] == 2.0
    sent = data["Module.k.Scales.backward.0"]["output"]
    assert same(sent[0], seen["gradient"]) and sent[1] is None


_LEAK = """
import gc, resource, shutil, sys, torch
from msprobe_core import PrecisionDebugger
level, folder = sys.argv[1:]
torch.set_num_threads(1)
layers = [torch.nn.Sequential(torch.nn.Linear(128, 128), torch.nn.ReLU()) for _ in range(8)]
model = torch.nn.Sequential(torch.nn.Sequential(*layers))
debugger = PrecisionDebugger(level=level, dump_path=folder)

def memory():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()

for number in range(80):
    debugger.start(model)
    found = model(torch.randn(128, 128))
    if number % 2:
        found.sum().backward()
    debugger.stop()
    debugger.step()
    shutil.rmtree(folder, ignore_errors=True)
    del found
    if number == 19:
        begun = memory()
print(begun, memory())
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from Linux")
@pytest.mark.parametrize("level", ["L0", "L1", "mix"])
def test_recording_keeps_no_graph(level: str, tmp_path: Path) -> None:
    """The graph of a step holds 1 MB: those of 30 steps would be 30 MB.

    Half of that is allowed: the allocator's own memory wanders by up to 11 MB, and stays there (of
    320 steps at L0 254 MB at step 20, 256 to 265 MB at 80, 264 MB at 160, 265 MB at 240 and 320).
    """
    command = [sys.executable, "-c", _LEAK, level, str(tmp_path / "dump")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    begun, ended = map(int, done.stdout.split())
    assert ended - begun < 15e6


class Masked(nn.Module):
    def forward(self, x: Tensor, mask: Tensor, scale: float) -> Tensor:
        least = torch.finfo(torch.float32).min
        return torch.softmax(torch.where(mask, x * scale, least), -1)


def test_a_finite_mask_is_no_infinity(debugger: Make, tmp_path: Path) -> None:
    mask = torch.ones(6, 6, dtype=torch.bool).tril()
    torch.manual_seed(0)
    model, x = Masked(), torch.randn(6, 6)
    for side, scale in (("benchmark", 1.0), ("problem", 1.5)):
        target = debugger(level="L1", dump_path=str(tmp_path / side))
        one_step(target, model, partial(model, x, mask, scale))
    assert inspect_dump(tmp_path / "benchmark").first_nonfinite is None
    options = builder.BuildOptions(workers=1, overflow_check=True)
    result = builder.build(tmp_path / "problem", tmp_path / "benchmark", tmp_path / "o", options)
    assert [finding.name for finding in result.findings] == ["Tensor.__mul__.0.forward"]
    with closing(sqlite3.connect(result.path)) as file:
        found = file.execute(
            "SELECT name, overflow FROM node WHERE overflow IS NOT NULL"
        ).fetchall()
    assert found == []


class Everything(nn.Module):
    """All shapes of modules at once, each between two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.A, self.B, self.C = (
            shapes.TwoOutputs(),
            shapes.UsesItsOutput(),
            shapes.ThreeArguments(),
        )
        self.D, self.E, self.G = shapes.TwoPaths(), shapes.FromAList(), shapes.ReturnsItsInput()
        self.f, self.g, self.cell = nn.Linear(4, 4), nn.Linear(4, 4), nn.LSTMCell(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        a, b = self.A(x)
        c, d = self.B(self.f(x))
        e = self.C(c, c, c)
        u, _ = self.D(self.f(x), self.g(x))
        v = self.E([self.f(x), self.g(x)])
        w, z = self.G(self.g(x))
        h, k = self.cell(x, (self.f(x), self.g(x)))
        first = a.sum() + 2 * b.sum() + d.sum() + e.sum() + u.sum() + v.sum()
        return first + 5 * w.sum() + z.sum() + h.sum() + 3 * k.sum()  # type: ignore[no-any-return]


def test_module_gradients_of_many_shapes_at_once(debugger: Make, dumps: Read) -> None:
    torch.manual_seed(0)
    model, x = Everything(), torch.randn(3, 4)
    twin = copy.deepcopy(model)
    for name in "ABCDEG":
        setattr(twin, name, Tapped(getattr(twin, name)))
    twin.cell = Tapped(twin.cell)  # type: ignore[assignment]
    twin(x).backward()
    one_step(debugger(level="L0"), model, lambda: model(x).backward())
    data = dumps()[0].data
    for name in ("A", "B", "C", "D", "E", "G", "cell"):
        tapped: Any = getattr(twin, name)
        entry = data[f"Module.{name}.{type(getattr(model, name)).__name__}.backward.0"]
        arrived = [record for _, record in leaves(entry["input"])]
        assert len(arrived) == len(tapped.arrived), name
        for gradient in tapped.arrived.values():
            assert any(same(record, gradient) for record in arrived), name
        sent = dict(leaves(entry["output"]))
        if name == "C":  # one tensor in three places has one gradient
            assert sent == {} and entry["output"] == [None] * 3
            continue
        assert sent.keys() == tapped.sent.keys(), name
        assert all(same(sent[at], gradient) for at, gradient in tapped.sent.items()), name


@pytest.mark.parametrize("threads", [1, 2])
def test_the_norm_of_a_large_weight(threads: int, debugger: Make, dumps: Read) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(32000, 128))
    torch.set_num_threads(threads)
    with torch.no_grad():
        one_step(debugger(level="L0"), model, lambda: model(torch.tensor([1, 2, 3])))
    record = dumps()[0].data["Module.0.Embedding.forward.0"]["parameters"]["weight"]
    exact = sum(part.double().square().sum() for part in model[0].weight.detach().split(1000))
    assert record["Norm"] == float(f"{exact.sqrt().item():.9g}")  # type: ignore[union-attr]


def test_one_element_with_a_stride_at_task_tensor(debugger: Make, dumps: Read) -> None:
    target, x = debugger(level="L1", task="tensor"), torch.tensor([[5.0, 6, 7, 8]])[:, ::4]
    target.start()
    _ = x * 2
    target.stop()
    target.step()
    dump = dumps()[0]
    record = dump.data["Tensor.__mul__.0.forward"]["input_args"][0]
    assert (record["shape"], record["Max"], record["Norm"]) == ([1, 1], 5.0, 5.0)
    saved = torch.load(dump.path / "dump_tensor_data" / record["data_name"])
    assert saved.equal(x)
    assert not (dump.path / "dump_error_info.log").exists()


def test_memory_nobody_wrote_is_no_difference(tmp_path: Path) -> None:
    program = "\n".join(
        (
            "import sys, torch",
            "from msprobe_core import PrecisionDebugger",
            "class T(torch.nn.Module):",
            "    def __init__(s): super().__init__(); s.f = torch.nn.Linear(64, 64)",
            "    def forward(s, x):",
            "        rest = torch.full((64,), int(sys.argv[1])); p = torch.randperm(64); del rest",
            "        inverse = torch.empty_like(p); inverse[p] = torch.arange(64)",
            "        return s.f(x[inverse]).sum()",
            "torch.manual_seed(0); model, x = T(), torch.randn(64, 64)",
            "with PrecisionDebugger(level='mix', dump_path=sys.argv[2]).recording(model):",
            "    model(x).backward()",
        )
    )
    for side, rest in (("problem", "7"), ("benchmark", "123456789")):
        command = [sys.executable, "-c", program, rest, str(tmp_path / side)]
        subprocess.run(command, check=True, capture_output=True, cwd=ROOT)
    options = builder.BuildOptions(workers=1)
    result = builder.build(tmp_path / "problem", tmp_path / "benchmark", tmp_path / "o", options)
    assert result.findings == ()
