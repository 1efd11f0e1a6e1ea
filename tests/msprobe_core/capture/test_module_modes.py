"""dump.json tells of each recorded call of a module whether it ran in training mode."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from builder.dump.reader import read_dump
from msprobe_core import PrecisionDebugger
from msprobe_core.capture.module_modes import ModuleModes


class Twice(nn.Module):
    """Calls one layer twice, in another mode the second time."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(4)
        self.last = nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm(x)
        self.norm.eval()
        x = self.norm(x)
        self.norm.train()
        y: Tensor = self.last(x)
        return y


@pytest.mark.parametrize("level", ["L0", "mix"])
def test_each_call_has_the_mode_that_a_hook_sees(tmp_path: Path, level: str) -> None:
    net, seen = Twice(), {}
    net.last.eval()
    calls = {net.norm: "Module.norm.BatchNorm1d", net.last: "Module.last.Linear"}
    for module, name in calls.items():
        counted = iter(range(2))

        def see(own: nn.Module, *_: object, name: str = name, turns: object = counted) -> None:
            seen[f"{name}.forward.{next(turns)}"] = own.training  # type: ignore[call-overload]  # an iterator

        module.register_forward_pre_hook(see)
    debugger = PrecisionDebugger(level=level, dump_path=str(tmp_path))
    with debugger.recording(net):
        net(torch.randn(8, 4))
    debugger.close()
    (rank,) = (tmp_path / "step0").iterdir()
    assert read_dump(rank).modes == seen
    assert set(seen.values()) == {True, False}


def test_a_run_without_modules_tells_of_none(tmp_path: Path) -> None:
    debugger = PrecisionDebugger(level="L1", dump_path=str(tmp_path))
    with debugger.recording():
        torch.ones(3) + 1
    debugger.close()
    (rank,) = (tmp_path / "step0").iterdir()
    assert "modes" not in json.loads((rank / "dump.json").read_text(encoding="utf-8"))
    assert read_dump(rank).modes == {}


@given(st.dictionaries(st.integers(0, 30), st.one_of(st.none(), st.booleans())))
def test_what_is_noted_comes_back(noted: dict[int, bool | None]) -> None:
    modes = ModuleModes()
    names = {f"Module.{at}.Linear.forward.0": mode for at, mode in noted.items()}
    for name, mode in names.items():
        modes.note(name, mode)
    text = modes.text()
    known = {name: mode for name, mode in names.items() if mode is not None}
    if text is None:
        assert not known
        return
    told = json.loads(text)
    others, unknown = told.get("others", []), told.get("unknown", [])
    assert {n: told["training"] is not (n in others) for n in names if n not in unknown} == known
    assert 2 * len(others) <= len(known)
