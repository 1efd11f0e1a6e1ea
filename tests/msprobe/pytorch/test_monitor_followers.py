"""Both monitors on every subset of ranks: none waits, and each writes what it holds itself."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
import torch

from tests.msprobe.pytorch.monitor_followers import subsets
from tests.msprobe.pytorch.trend_followers import STEPS
from tests.msprobe_core.two_ranks import run_ranks

pytestmark = pytest.mark.skipif(
    not torch.distributed.is_available(), reason="torch without torch.distributed"
)
PROGRAM = Path(__file__).with_name("monitor_followers.py")
TAKEN, UPDATED = 0, 1
Written = dict[tuple[int, str], float]


def rows_of(folder: Path, pattern: str, name: str, scope: str | None = None) -> Written:
    """Norms by step and name."""
    found: Written = {}
    for file in folder.glob(pattern):
        with file.open(newline="") as lines:
            for row in csv.DictReader(lines):
                if scope is None or row["scope"] == scope:
                    found[int(row["step"]), row[name]] = float(row["norm"])
    return found


def tables_of(folder: Path, rank: int) -> dict[str, tuple[Written, int]]:
    """Each table of gradients or weights that a rank has written, and which truth it is."""
    first, second = folder / "v1", folder / "v2" / f"rank_{rank}"
    at = f"*-rank{rank}-*"
    return {
        "v1, gradients": (rows_of(first, f"{at}/grad_reduced_*.csv", "name"), TAKEN),
        "v1, weights": (rows_of(first, f"{at}/param_updated_*.csv", "name"), UPDATED),
        "v2, gradients": (rows_of(second, "weight_grad_*.csv", "module_name", "reduced"), TAKEN),
        "v2, weights": (rows_of(second, "param_*.csv", "module_name", "param_updated"), UPDATED),
    }


@pytest.mark.parametrize(("kind", "world"), [("ddp", 2), ("fsdp2", 2), ("ddp", 4), ("fsdp2", 4)])
def test_no_rank_waits_and_every_number_is_right(tmp_path: Path, kind: str, world: int) -> None:
    run_ranks(world, PROGRAM, str(tmp_path), kind)
    for followers in subsets(world):
        folder = tmp_path / "".join(map(str, followers))
        ranks = {int(each.name.split("-rank")[1].split("-")[0]) for each in folder.glob("v1/*-*")}
        assert ranks == set(followers)
        for rank in followers:
            true = json.loads((tmp_path / f"{folder.name}-true{rank}.json").read_text())
            assert len(true) == STEPS
            for what, (written, which) in tables_of(folder, rank).items():
                expected = {
                    (step, name): values[which]
                    for step, each in enumerate(true)
                    for name, values in each.items()
                    if values[which] is not None
                }
                found = {key: value for key, value in written.items() if key in expected}
                assert found == pytest.approx(expected, rel=1e-6), (what, followers, rank)
