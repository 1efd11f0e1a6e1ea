"""A file for each value, called like the value, that holds the value; no tensor is stored twice."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from msprobe_core import PrecisionDebugger
from msprobe_core.torch.record.tensor_files import TensorFiles
from tests.msprobe_core.dump_reading import RankDump

Make = Callable[..., PrecisionDebugger]
Read = Callable[[], list[RankDump]]


class Block(nn.Module):
    """Its output is that of its last call, its input that of its first, and both are used again."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(6)
        self.gate = nn.Linear(6, 6)

    def forward(self, x: torch.Tensor, *, scale: torch.Tensor) -> tuple[torch.Tensor, Any]:
        h = self.gate(self.norm(x))
        return h * scale, {"kept": [x, h], "again": h}


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = Block(), Block()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scale = torch.full((6,), 0.5)
        y, _ = self.first(x, scale=scale)
        z, _ = self.second(y, scale=scale)
        return z.square().sum()


def recorded(target: PrecisionDebugger) -> dict[str, torch.Tensor]:
    """Record a step; what torch's own hooks see of the modules, by the names that values have."""
    torch.manual_seed(3)
    model = Model()
    seen: dict[str, torch.Tensor] = {}

    def watch(name: str, module: nn.Module) -> None:
        def hook(module: nn.Module, inputs: Any, named: Any, output: Any) -> None:
            kind = type(module).__name__
            first = output[0] if isinstance(output, tuple) else output
            seen[f"Module.{name}.{kind}.forward.0.output.0"] = first.detach().clone()
            seen[f"Module.{name}.{kind}.forward.0.input.0"] = inputs[0].detach().clone()
            for keyword, value in named.items():
                seen[f"Module.{name}.{kind}.forward.0.input.{keyword}"] = value.clone()

        module.register_forward_hook(hook, with_kwargs=True)

    for name, module in model.named_modules():
        if name:
            watch(name, module)
    target.start(model=model)
    model(torch.randn(4, 6)).backward()
    target.stop()
    target.step()
    return seen


def values(entry: str, content: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The tensor records of an entry with the names of their values."""
    if ".parameters_grad." in entry:
        yield from _nested(entry, content)
        return
    words = {"input_args": "input", "input_kwargs": "input"}
    for key, held in content.items():
        yield from _nested(f"{entry}.{words.get(key, key)}", held)


def _nested(path: str, held: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(held, dict) and held.get("type") == "torch.Tensor":
        yield path, held
        return
    if not isinstance(held, dict | list):
        return
    for key, inner in held.items() if isinstance(held, dict) else enumerate(held):
        # A parameter's gradient is a list of one.
        single = ".parameters_grad." in path and isinstance(held, list)
        yield from _nested(path if single else f"{path}.{key}", inner)


def named(dump: RankDump) -> dict[str, dict[str, Any]]:
    return {
        name: record
        for entry, content in dump.data.items()
        for name, record in values(entry, content)
    }


@pytest.mark.parametrize("level", ["L0", "L1", "mix"])
@pytest.mark.parametrize("links", [True, False])
def test_each_value_has_a_file_of_its_own_name(
    debugger: Make, dumps: Read, level: str, links: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not links:
        monkeypatch.setattr(os, "link", _refusing(errno.EPERM))
    seen = recorded(debugger(task="tensor", level=level))
    (dump,) = dumps()
    folder = dump.path / "dump_tensor_data"
    records = named(dump)
    assert {record["data_name"] for record in records.values()} == {f"{n}.pt" for n in records}
    assert {path.name for path in folder.iterdir()} == {f"{name}.pt" for name in records}
    for name, record in records.items():
        saved = torch.load(folder / f"{name}.pt")
        assert (list(saved.shape), saved.max().item()) == (record["shape"], record["Max"]), name
    for name, value in seen.items():
        if level != "L1":
            assert torch.equal(torch.load(folder / f"{name}.pt"), value), name
    stored = {path.stat().st_ino: path.stat().st_size for path in folder.iterdir()}
    assert len(stored) < len(records) / 1.4 if links else len(stored) == len(records)


def test_a_dump_with_shared_files_says_its_size_on_disk(debugger: Make, dumps: Read) -> None:
    from builder.dump.inspection import inspect_dump

    recorded(debugger(task="tensor", level="mix"))
    (dump,) = dumps()
    files = [path for path in dump.path.rglob("*") if path.is_file()]
    (rank,) = inspect_dump(dump.path).ranks
    assert rank.size == sum({p.stat().st_ino: p.stat().st_size for p in files}.values())
    assert rank.tensor_files == len(named(dump))


@pytest.mark.parametrize("deferred", [False, True])
@pytest.mark.parametrize("spread", [False, True])
def test_names_of_one_tensor(tmp_path: Path, deferred: bool, spread: bool) -> None:
    files = TensorFiles(tmp_path / "t", deferred)
    value = torch.ones(1).expand(1 << 25) if spread else torch.arange(4.0)
    first = files.save(value, "A.output.0")
    assert files.save_again(first, "A.output.0") == first == "A.output.0.pt"
    assert [files.save_again(first, f"B.input.{n}") for n in range(2)] == [
        "B.input.0.pt",
        "B.input.1.pt",
    ]
    files.finish()
    saved = {path.name: torch.load(path) for path in (tmp_path / "t").iterdir()}
    assert len(saved) == files.count == 3
    assert all(torch.equal(each, value) for each in saved.values())
    assert len({path.stat().st_ino for path in (tmp_path / "t").iterdir()}) == 1
    assert files.bytes == (tmp_path / "t" / first).stat().st_size


def test_a_file_with_as_many_names_as_it_can_have_goes_on_in_a_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, copies = os.link, []

    def link(source: Path, target: Path) -> None:
        if source.stat().st_nlink == 3:
            copies.append(target.name)
            raise OSError(errno.EMLINK, "Too many links")
        real(source, target)

    monkeypatch.setattr(os, "link", link)
    files = TensorFiles(tmp_path, deferred=False)
    first = files.save(torch.arange(4.0), "A")
    for number in range(8):
        files.save_again(first, f"B.{number}")
    assert copies == ["B.2.pt", "B.5.pt"]
    assert all(torch.equal(torch.load(p), torch.arange(4.0)) for p in tmp_path.iterdir())


def test_a_name_that_is_written_anew_changes_no_other(tmp_path: Path) -> None:
    files = TensorFiles(tmp_path, deferred=False)
    first = files.save(torch.zeros(3), "A")
    files.save_again(first, "B")
    files.save(torch.ones(3), "A")
    assert torch.load(tmp_path / "B.pt").sum() == 0
    files.save_again("B.pt", "A")
    assert torch.load(tmp_path / "A.pt").sum() == 0


def test_a_full_disk_ends_the_dump_and_not_the_run(
    debugger: Make, dumps: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    import shutil

    monkeypatch.setattr(os, "link", _refusing(errno.ENOSPC))
    monkeypatch.setattr(shutil, "copyfile", _refusing(errno.ENOSPC))
    recorded(debugger(task="tensor", level="mix"))
    (dump,) = dumps()
    assert "did not complete" in dump.head["note"]


def _refusing(code: int) -> Callable[..., None]:
    def refuse(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    return refuse
