"""seed_all repeats a run, random_save finds where numbers are drawn."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import torch

from msprobe_core import seed_all
from tests.msprobe_core.conftest import ROOT


def in_a_process(code: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_seeding_repeats_all_generators() -> None:
    def drawn() -> list[float]:
        seed_all(7)
        return [torch.rand(1).item(), float(np.random.rand())]

    assert drawn() == drawn()


def test_determinism_of_the_user_stays() -> None:
    torch.use_deterministic_algorithms(True)
    try:
        seed_all(7, mode=False)
        assert torch.are_deterministic_algorithms_enabled()
    finally:
        torch.use_deterministic_algorithms(False)


def test_dropout_is_removed_and_draws_repeat() -> None:
    code = """
import torch, random, numpy as np
from msprobe.pytorch import seed_all
seed_all(mode=True, rm_dropout=True, is_enhanced=True)
x = torch.ones(100)
assert torch.nn.functional.dropout(x, 0.9).equal(x)
assert torch.nn.Dropout(0.9)(x).equal(x)
assert torch.rand(2).equal(torch.rand(2))
assert random.random() == random.random()
assert np.random.rand() == np.random.rand()
assert torch.are_deterministic_algorithms_enabled()
print("done")
"""
    assert in_a_process(code) == "done"


def test_places_of_random_calls_are_written(tmp_path: Path) -> None:
    code = """
import sys, torch
from msprobe.pytorch import random_save
random_save(output_path=sys.argv[1])
for _ in range(3):
    torch.nn.functional.dropout(torch.rand(3), 0.5)
torch.ones(2).normal_()
"""
    in_a_process(code, str(tmp_path / "out"))
    (path,) = (tmp_path / "out").glob("random_proc*.csv")
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["api_name", "stack"]
    assert [row[0] for row in rows[1:]] == ["rand", "dropout", "normal_"]
