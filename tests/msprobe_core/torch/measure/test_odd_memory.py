"""Tensors whose elements do not lie one after the other, repeat, are wrapped, or are not there."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.testing._internal.two_tensor import TwoTensor

from msprobe_core import PrecisionDebugger
from msprobe_core.torch.measure.deferred import defer_measure, read_back
from msprobe_core.torch.measure.sketch import MOST_REPEATED, sketch_now
from msprobe_core.values.text import sketch_text
from tests.msprobe_core.dump_reading import RankDump, tensors
from tests.msprobe_core.torch.record.test_tensors import record

Make = Callable[..., PrecisionDebugger]
Read = Callable[[], list[RankDump]]


def random(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(3))


STRIDED: dict[str, Callable[[], torch.Tensor]] = {
    "every second": lambda: random(2, 4, 16, 64)[..., ::2],
    "every other": lambda: random(2, 4, 16, 64)[..., 1::2],
    "column": lambda: random(4096, 8)[:, 0],
    "one dimension": lambda: random(5000)[::2],
    "third of one dimension": lambda: random(9001)[1::3],
    "one number": lambda: torch.tensor(2.0).expand(5000),
    "one number in 2-D": lambda: torch.tensor(-3.0).expand(70, 80),
    "one row": lambda: random(1, 2000).expand(3, 2000),
    "one column": lambda: random(2000, 1).expand(2000, 3),
    "overlapping rows": lambda: torch.as_strided(random(6000), (2000, 400), (2, 3)),
    "diagonal": lambda: random(2000, 2000).diagonal(),
    "real part": lambda: torch.view_as_complex(random(3000, 2)).real,
    "double": lambda: random(5000).double()[::2],
    "half": lambda: random(5000).half()[::3],
    "integers": lambda: torch.arange(5000)[::2],
    "transposed": lambda: random(64, 64).t(),
}


@pytest.mark.parametrize("kind", STRIDED)
def test_a_strided_tensor_has_the_numbers_of_its_copy(kind: str) -> None:
    tensor = STRIDED[kind]()
    copy = tensor.contiguous().clone()
    found, expected = record(tensor, sketch=True), record(copy, sketch=True)
    assert found["sketch"] == expected["sketch"]
    assert {key: found[key] for key in ("Max", "Min")} == {k: expected[k] for k in ("Max", "Min")}
    for key in ("Mean", "Norm"):
        assert found[key] == (
            None if expected[key] is None else pytest.approx(expected[key], rel=1e-8, abs=1e-8)
        )


@pytest.mark.parametrize("kind", STRIDED)
def test_a_strided_tensor_is_saved_as_it_is(kind: str, debugger: Make, dumps: Read) -> None:
    given = STRIDED[kind]()
    dump = seen(given, "tensor", debugger, dumps)
    (saved, *_) = tensors(dump.data)
    assert torch.equal(torch.load(dump.path / "dump_tensor_data" / saved["data_name"]), given)


class Same(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x


def seen(given: Any, task: str, debugger: Make, dumps: Read, level: str = "L0") -> RankDump:
    net = nn.Sequential(Same())
    recording = debugger(task=task, level=level)
    recording.start(net)
    net(given)
    recording.stop()
    recording.step()
    (dump,) = dumps()
    return dump


@pytest.mark.parametrize(("level", "task"), [("mix", "statistics"), ("L0", "tensor")])
def test_the_gradient_of_a_sum(level: str, task: str, debugger: Make, dumps: Read) -> None:
    net = nn.Sequential(nn.Sequential(nn.Linear(64, 64), nn.Linear(64, 64)))
    recording = debugger(task=task, level=level)
    recording.start(net)
    net(random(32, 64).requires_grad_()).sum().backward()
    recording.stop()
    recording.step()
    (dump,) = dumps()
    assert not list(dump.path.glob("*error*"))
    arrived = dump.data["Module.0.1.Linear.backward.0"]["input"][0]
    assert (arrived["Max"], arrived["Min"], arrived["Mean"]) == (1.0, 1.0, 1.0)
    assert all(found["Norm"] is not None for found in tensors(dump.data))


def test_what_repeats_without_end_has_numbers_and_a_small_file(debugger: Make, dumps: Read) -> None:
    given = torch.full((1,), 2.0).expand(MOST_REPEATED + 1)
    dump = seen(given, "tensor", debugger, dumps)
    (found, *_) = tensors(dump.data)
    assert (found["Max"], found["Mean"]) == (2.0, 2.0)
    assert found["Norm"] == pytest.approx(2.0 * (MOST_REPEATED + 1) ** 0.5)
    assert "sketch" not in found
    path = dump.path / "dump_tensor_data" / found["data_name"]
    assert path.stat().st_size < 10_000
    saved = torch.load(path)
    assert saved.shape == given.shape and saved[-1] == 2.0


UNSIGNED = {
    "uint64": [1, 2**63 + 5, 2**64 - 1],
    "uint64 small": [0, 7],
    "uint64 around the half": [2**63 - 1, 2**63],
    "uint32": [3, 2**32 - 1],
    "uint16": [0, 65535],
}


@pytest.mark.parametrize("kind", UNSIGNED)
@pytest.mark.parametrize("deferred", [False, True])
def test_unsigned_integers(kind: str, deferred: bool) -> None:
    values = UNSIGNED[kind]
    tensor = torch.tensor(values, dtype=getattr(torch, kind.split()[0]))
    sketch = sketch_text(sketch_now(tensor, 0.0))
    if deferred:
        pending = defer_measure(tensor, sketched=True)
        read_back([pending])
        found = json.loads(f'{{"at": 0{pending.found.text}{pending.sketch}}}')
        assert f', "sketch": "{found["sketch"]}"' == sketch
    else:
        found = record(tensor)
    assert (found["Max"], found["Min"]) == (max(values), min(values))


class Wrapper(torch.Tensor):
    """A user's own, which says nothing of what it holds."""

    held: torch.Tensor

    @staticmethod
    def __new__(cls: type[Wrapper], held: torch.Tensor) -> Wrapper:
        made: Any = torch.Tensor._make_wrapper_subclass(cls, held.shape, dtype=held.dtype)
        made.held = held
        return made  # type: ignore[no-any-return]

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        plain = [each.held if isinstance(each, Wrapper) else each for each in args]
        result = func(*plain, **(kwargs or {}))
        is_float = isinstance(result, torch.Tensor) and result.dtype.is_floating_point
        return Wrapper(result) if is_float else result


class Empty(Wrapper):
    @staticmethod
    def __new__(cls: type[Empty], held: torch.Tensor) -> Empty:
        made: Any = torch.Tensor._make_wrapper_subclass(cls, held.shape, dtype=held.dtype)
        return made  # type: ignore[no-any-return]


class Original(Wrapper):
    """What the float8 tensors of torchao offer."""

    def to_original_precision(self) -> torch.Tensor:
        return self.held * 2


def freed() -> torch.Tensor:
    tensor = random(3000)
    tensor.untyped_storage().resize_(0)
    return tensor


def freed_part() -> torch.Tensor:
    part = random(3000)[100:]
    part.untyped_storage().resize_(0)
    return part


def shrunk() -> torch.Tensor:
    tensor = random(3000)
    tensor.untyped_storage().resize_(400)
    return tensor


def masked() -> torch.Tensor:
    mask = random(40) > 0
    data = torch.where(mask, random(40), torch.full((40,), float("nan")))
    return torch.masked.masked_tensor(data, mask)  # type: ignore[no-any-return]


ODD: dict[str, tuple[Callable[[], torch.Tensor], Callable[[], torch.Tensor] | None]] = {
    "freed": (freed, None),
    "shrunk": (shrunk, None),
    "part of what was freed": (freed_part, None),
    "two tensors": (lambda: TwoTensor(random(4, 4), random(4, 4)), None),
    "empty wrapper": (lambda: Empty(random(4, 4)), None),
    "meta": (lambda: torch.empty(3000, device="meta"), None),
    "wrapper": (lambda: Wrapper(random(40, 40)), lambda: random(40, 40)),
    "wrapper of a wrapper": (lambda: Wrapper(Wrapper(random(50))), lambda: random(50)),
    "original": (lambda: Original(random(40)), lambda: random(40) * 2),
    "masked": (masked, lambda: torch.where(random(40) > 0, random(40), 0.0)),
    "negated": (
        lambda: torch.view_as_complex(random(400, 2)).conj().imag,
        lambda: -random(400, 2)[:, 1],
    ),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("task", ["statistics", "tensor", "md5"])
def test_memory_that_is_not_there_is_not_read(
    kind: str, task: str, debugger: Make, dumps: Read, tmp_path: Path
) -> None:
    make, truth = ODD[kind]
    section = "statistics" if task == "md5" else task
    mode = {"summary_mode": "md5"} if task == "md5" else {}
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"task": section, "level": "L0", section: mode}))
    net, given = nn.Sequential(Same()), make()
    recording = debugger(config_path=str(config))
    recording.start(net)
    net(given)
    recording.stop()
    recording.step()
    (dump,) = dumps()
    assert not list(dump.path.glob("*error*"))
    (found, *_) = tensors(dump.data)
    assert found["shape"] == list(given.shape)
    if truth is None:
        assert found["Max"] is None and not {"data_name", "md5"} & found.keys()
    else:
        expected = truth()
        if "Max" in found:
            assert found["Max"] == expected.max().item()
            assert found["Norm"] == pytest.approx(expected.double().norm().item(), rel=1e-6)
        if "data_name" in found:
            saved = torch.load(dump.path / "dump_tensor_data" / found["data_name"])
            assert torch.equal(saved, expected)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_a_nested_tensor_of_nothing_is_an_empty_one() -> None:
    """`record` holds that nothing was said to have failed."""
    found, empty = record(torch.nested.nested_tensor([])), record(torch.empty(0))
    assert [found[name] for name in ("Max", "Mean", "Norm")] == [
        empty[name] for name in ("Max", "Mean", "Norm")
    ]
