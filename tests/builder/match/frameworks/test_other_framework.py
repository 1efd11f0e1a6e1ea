"""A framework that this package does not know joins by a description and one line of registration:
functions of NumPy, recorded by their own package, against PyTorch.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from msprobe.cli.outcome import Exit
from msprobe_core import PrecisionDebugger

ROOT = Path(__file__).resolve().parents[4]
PACKAGE = "tests.builder.match.frameworks.numpy_functions"


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(8, 16), nn.Linear(16, 4)

    def forward(self, given: Tensor) -> Tensor:
        return torch.exp(self.second(torch.atan(self.first(given))))


class Sides:
    """A folder with the dump of PyTorch, where NumPy's are written and compared with it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        torch.manual_seed(3)
        model, given = nn.ModuleDict({"net": Net()}), torch.randn(4, 8)
        debugger = PrecisionDebugger(dump_path=str(folder / "pytorch"), level="mix")
        debugger.start(model)
        with torch.no_grad():
            model["net"](given)
        debugger.stop()
        debugger.step()
        weights = {name: value.numpy() for name, value in model["net"].state_dict().items()}
        np.savez(folder / "weights.npz", given=given.numpy(), **weights)

    def register(self) -> None:
        """The one line of registration, as the metadata of an installed package has it."""
        metadata = self.folder / "site" / "numpy_functions-0.dist-info"
        metadata.mkdir(parents=True)
        (metadata / "METADATA").write_text("Name: numpy-functions\nVersion: 0\n")
        line = f"numpy = {PACKAGE}:NUMPY"
        (metadata / "entry_points.txt").write_text(f"[msprobe.frameworks]\n{line}\n")

    def compared(self, fault: str) -> str:
        """What the command line says of a run of NumPy against PyTorch's; no fault is empty."""
        dump, output = self.folder / "numpy", self.folder / "result"
        _python(
            self.folder, "-m", f"{PACKAGE}.two_layers", dump, self.folder / "weights.npz", fault
        )
        places = ("-tp", dump, "-gp", self.folder / "pytorch", "-o", output)
        _python(self.folder, "-m", "msprobe.cli", "graph_visualize", *places)
        return _python(self.folder, "-m", "msprobe.cli", "diagnose", *output.glob("*.vis.db"))


def _python(folder: Path, *arguments: object) -> str:
    """What a new process prints that sees the packages below a folder's `site`."""
    path = os.pathsep.join((str(ROOT), str(folder / "site")))
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert done.returncode in (Exit.DONE, Exit.DIVERGED, Exit.NOTHING_COMPARABLE)
    return done.stdout


@pytest.fixture
def sides(tmp_path: Path) -> Sides:
    return Sides(tmp_path)


def test_a_sound_pair_of_another_framework_agrees(sides: Sides) -> None:
    sides.register()
    said = sides.compared("")
    assert "5 nodes matched, 0 only in the problem run, 0 only in the benchmark run" in said
    assert "NumPy against PyTorch" in said
    assert "no difference beyond rounding found" in said


def test_a_wrong_call_is_named_with_its_line(sides: Sides) -> None:
    sides.register()
    said = sides.compared("extra")
    assert "1. Numpy.multiply.0.forward" in said
    assert "only the problem run calls Numpy.multiply.0.forward" in said
    assert "two_layers.py, line " in said
    assert "hidden = recorder.multiply(hidden, 1.5)" in said


def test_a_wrong_layer_is_named_with_the_default_that_differs(sides: Sides) -> None:
    sides.register()
    said = sides.compared("offset")
    assert "1. Block.net.second.Affine.forward.0" in said
    default = "a linear layer's offset is none by default in NumPy and drawn uniformly in PyTorch"
    assert default in said


def test_without_the_line_nothing_corresponds(sides: Sides) -> None:
    said = sides.compared("")
    assert "numpy against PyTorch" in said
    assert "nothing was compared" in said
