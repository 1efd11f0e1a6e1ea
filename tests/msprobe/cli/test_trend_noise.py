"""`msprobe trend noise` runs a script as its own twin, and `--noise` uses what it taught."""

from __future__ import annotations

from pathlib import Path

import pytest

from builder.series.noise import read_noise
from msprobe.cli import main

SCRIPT = """
import sys
import torch
from msprobe.pytorch import Trends

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
with Trends(sys.argv[1], model, optimizer, activations="all") as trends:
    for step in range(int(sys.argv[2])):
        loss = model(torch.randn(8, 8)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        trends.step(loss=loss)
open("ended", "w").close()
"""


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text(SCRIPT, encoding="utf-8")
    return "train.py"


def test_a_script_is_run_as_its_own_twin_and_no_longer_than_is_asked(
    script: str, capfd: pytest.CaptureFixture[str]
) -> None:
    given = ["--steps", "150", "-o", "learnt.json", "--run", script, "mine", "900"]
    assert main(["trend", "noise", *given]) == 0
    assert "learnt from 150 steps" in capfd.readouterr().out
    noise = read_noise(Path("learnt.json"))
    assert noise.steps == 150
    assert any(tail.largest > 0 for tail in noise.tails["leap"].values())
    assert not Path("mine").exists()
    assert not Path("ended").exists()


def test_a_script_that_makes_no_trends_is_told_with_its_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("other.py").write_text("raise SystemExit(3)", encoding="utf-8")
    assert main(["trend", "noise", "--run", "other.py"]) == 1
    assert "other.py: ended with code 3 and left 0 trends" in capsys.readouterr().err


@pytest.mark.parametrize("words", [[], ["one"], ["--steps", "0", "--run", "train.py"]])
def test_without_a_twin_the_next_step_is_told(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["trend", "noise", *words]) == 1
    assert "trend noise: " in capsys.readouterr().err
