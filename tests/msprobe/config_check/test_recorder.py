"""`ConfigChecker` in real training scripts, each a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch

from msprobe.config_check.comparison import compare_packs
from msprobe.core.config_check import ConfigChecker
from msprobe.errors import CheckError
from tests.conftest import ROOT
from tests.msprobe.config_check.tables import SAMPLES, sheets

SCRIPT = (SAMPLES / "dyn.py.txt").read_text()


def train(script: str, folder: Path, *arguments: object, **environment: str) -> str:
    """Run a script and return what it said on standard error."""
    file = folder / "dyn.py"
    file.write_text(script)
    done = subprocess.run(
        [sys.executable, "-W", "error", file, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


def members(file: Path) -> dict[str, Any]:
    with zipfile.ZipFile(file) as packed:
        names = packed.namelist()
        assert len(set(names)) == len(names)
        return {n: json.loads(packed.read(n)) if n != "pip" else packed.read(n) for n in names}


def test_the_script_of_the_sample_gives_the_sample(tmp_path: Path) -> None:
    for number, side in ((1, "a"), (2, "b")):
        train(SCRIPT, tmp_path, tmp_path / f"{side}.zip", number, SAMPLES / f"{side}.sh")
    ours = members(tmp_path / "a.zip")
    folder = SAMPLES / "dynamic_bench"
    for step in (0, 1):
        for name in (
            f"dataset/step{step}/rank0/dataset.json",
            f"weights/step{step}/rank0/weight.json",
        ):
            theirs = json.loads((folder / name).read_text())
            left = ours[name]["args"]["0"] if "args" in theirs else ours[name]["bias"]
            right = theirs["args"]["0"] if "args" in theirs else theirs["bias"]
            assert ours[name].keys() == theirs.keys()
            assert {key: left[key] for key in right} == pytest.approx(right, rel=1e-5)
            assert left.keys() - right.keys() == {"order"}
            assert (left["max"], left["min"]) == (right["max"], right["min"])
    static = "hyperparameters/hyperparameters_static.json"
    assert ours[static] == json.loads((folder / static).read_text())

    compare_packs(tmp_path / "a.zip", tmp_path / "b.zip", tmp_path / "out")
    found = sheets(tmp_path / "out" / "result.xlsx")
    theirs = sheets(SAMPLES / "config_check_dynamic_result.xlsx")["summary"]
    assert found["summary"] == [*theirs[:-1], ("random", "error")]
    # The peer stops to count at the first forward call: torch.rand after the loop is lost there.
    wrong = [row for row in found["random"][1:] if row[6] is False]
    assert [(row[0], row[4], row[5]) for row in wrong] == [("torch.rand", 0, 1)]
    counts = {row[0]: row[4] for row in found["random"][1:]}
    assert counts["torch.randn"] == counts["random.random"] == 2
    assert counts["torch.nn.init.kaiming_uniform_"] == 1  # of nn.Linear


def test_recording_changes_no_number(tmp_path: Path) -> None:
    body = """
import random, sys, torch, numpy as np
from pathlib import Path
from msprobe.core.config_check import ConfigChecker
recorded = sys.argv[1] == "recorded"
if recorded:
    ConfigChecker.apply_patches()
torch.manual_seed(3); random.seed(3); np.random.seed(3)
net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.5))
if recorded:
    ConfigChecker(model=net)
total = sum(net(torch.randn(2, 4)).sum() for _ in range(3))
total.backward()
numbers = [total.detach(), random.random(), np.random.rand(), net[0].weight.grad.sum()]
Path("numbers.txt").write_text(" ".join(float(number).hex() for number in numbers))
"""
    texts = []
    for mode in ("plain", "recorded"):
        train(body, tmp_path, mode)
        texts.append((tmp_path / "numbers.txt").read_text())
    assert texts[0] == texts[1]


def test_ranks_share_a_pack_and_a_second_run_replaces_the_first(tmp_path: Path) -> None:
    body = """
import torch
from msprobe.core.config_check import ConfigChecker
net = torch.nn.Linear(2, 2)
ConfigChecker(model=net, output_zip_path="pack.zip")
for _ in range(2):
    net(torch.ones(1, 2))
"""
    for ranks in (2, 1):
        for rank in range(ranks):
            train(body, tmp_path, RANK=str(rank), WORLD_SIZE=str(ranks))
        found = members(tmp_path / "pack.zip")
        places = {name for name in found if name.startswith("weights/")}
        assert places == {
            f"weights/step{s}/rank{r}/weight.json" for s in (0, 1) for r in range(ranks)
        }
    assert list(tmp_path.glob("*.partial")) == []


def test_inputs_are_recorded_as_they_are_nested(tmp_path: Path) -> None:
    class Net(torch.nn.Module):
        def forward(self, first: Any, *, second: Any) -> torch.Tensor:
            total: torch.Tensor = first["a"][1] + second
            return total

    ConfigChecker(model=Net(), output_zip_path=str(tmp_path / "p.zip"))
    # A hook stays with its module alone: this one is made, used and gone here.
    net = Net()
    ConfigChecker(model=net, output_zip_path=str(tmp_path / "q.zip"))
    net({"a": [None, torch.ones(2)]}, second=torch.tensor([True, False]))
    found = members(tmp_path / "q.zip")["dataset/step0/rank0/dataset.json"]
    ones = found["args"]["0"]["a"]["1"]
    # The first place weighs -1/2, the second 2654435769 / 2^32 - 1/2.
    assert ones.pop("order") == pytest.approx(2_654_435_769 / 2**32 - 1)
    assert found["args"] == {"0": {"a": {"1": {"max": 1, "min": 1, "mean": 1, "norm": 2**0.5}}}}
    second = {"max": 1, "min": 0, "mean": 0.5, "norm": 1, "order": -0.5}
    assert found["kwargs"]["second"] == second


def test_arguments_of_megatron_are_dynamic_hyper_parameters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import argparse
    import types

    module = types.ModuleType("megatron.training.global_vars")
    module._GLOBAL_ARGS = argparse.Namespace(lr=1e-4, wandb_key="abc9def8", dtype=torch.bfloat16)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    net = torch.nn.Linear(2, 2)
    ConfigChecker(model=[net], output_zip_path=str(tmp_path / "p.zip"))
    net(torch.ones(1, 2))
    found = members(tmp_path / "p.zip")["hyperparameters/hyperparameters_dynamic.json"]
    assert found == {"lr": 1e-4, "wandb_key": "<redacted>", "dtype": "torch.bfloat16"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"output_zip_path": "pack.tar"}, "ends in .zip"),
        ({"output_zip_path": "none/pack.zip"}, "is no folder; make it"),
        ({"fmk": "mindspore"}, "only PyTorch"),
        ({"shell_path": ["none.sh"]}, "none.sh: no such file"),
    ],
)
def test_what_cannot_be_recorded(
    arguments: dict[str, Any], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CheckError, match=said):
        ConfigChecker(**arguments)
    with pytest.raises(CheckError, match="only PyTorch"):
        ConfigChecker.apply_patches(fmk="mindspore")


FULL_DISK = """
import os, resource, signal, torch
from msprobe.core.config_check import ConfigChecker
ConfigChecker.apply_patches()
drawn = torch.randn
net = torch.nn.Linear(4, 2)
hooks = len(net._forward_pre_hooks)
before = vars(torch)["randn"]
ConfigChecker(model=net, output_zip_path="full.zip")
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
for step in range(4):
    if step == STEP:
        size = os.path.getsize("full.zip")
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 10, resource.RLIM_INFINITY))
    net(torch.randn(3, 4))
assert len(net._forward_pre_hooks) == hooks
assert torch.randn is not drawn and not hasattr(torch.randn, "__wrapped__")
drawn(2)
"""


@pytest.mark.parametrize("step", [0, 1, 2])
def test_a_full_disk_ends_the_recording_and_nothing_else(step: int, tmp_path: Path) -> None:
    said = train(FULL_DISK.replace("STEP", str(step)), tmp_path)
    assert said.count("\n") == 1, said
    assert f"step {step} cannot be recorded" in said
    assert "full.zip" in said
    found = members(tmp_path / "full.zip")
    assert "env" in found
    assert {name for name in found if name.startswith("weights/")} == {
        f"weights/step{done}/rank0/weight.json" for done in range(step)
    }
    assert list(tmp_path.glob("*.partial")) == []


def test_a_model_that_cannot_be_described_runs_on(tmp_path: Path) -> None:
    body = """
import torch
from msprobe.core.config_check import ConfigChecker
class Net(torch.nn.Linear):
    def named_parameters(self, *args, **kwargs):
        raise RuntimeError("sealed")
net = Net(2, 2)
ConfigChecker(model=net, output_zip_path="pack.zip")
for _ in range(3):
    net(torch.ones(1, 2))
"""
    assert "sealed" in train(body, tmp_path)


def test_a_pack_that_cannot_be_begun_is_said(tmp_path: Path) -> None:
    (tmp_path / "pack.zip").write_text("something else")
    with pytest.raises(CheckError, match=r"pack\.zip: cannot be written"):
        ConfigChecker(output_zip_path=str(tmp_path / "pack.zip"))
