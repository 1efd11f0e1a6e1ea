"""Every subset of ranks may follow a training: none waits, and what is written is right."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
import torch

from builder.series.run import TrendRun
from tests.msprobe.pytorch.trend_followers import STEPS, cases, leaver
from tests.msprobe_core.two_ranks import run_ranks

pytestmark = pytest.mark.skipif(
    not torch.distributed.is_available(), reason="torch without torch.distributed"
)
PROGRAM = Path(__file__).with_name("trend_followers.py")
NAMES = ("0.weight", "0.bias", "2.weight", "2.bias")
PIECE, WHOLE = 0, 1


@pytest.mark.parametrize(
    ("kind", "world"), [("ddp", 2), ("fsdp2", 2), ("ddp", 4), ("fsdp2", 4), ("hsdp", 4)]
)
def test_no_rank_waits_and_every_number_is_right(tmp_path: Path, kind: str, world: int) -> None:
    run_ranks(world, PROGRAM, str(tmp_path), kind)
    for followers, how in cases(world):
        name = "".join(map(str, followers)) or "none"
        folder = tmp_path / f"{name}-{how}"
        if not followers:
            assert not folder.exists()
            continue
        run = TrendRun(folder)
        assert sorted(run.ranks) == list(followers), name
        gone = leaver(followers, how)
        for rank in followers:
            steps, _ = run.line(("actv", "2"), rank=rank)
            assert steps.tolist() == ([0] if rank == gone else list(range(STEPS))), (name, rank)
        written, held = _expected(kind, world, followers)
        writers = written[:1] if held == WHOLE else written
        true = {
            rank: json.loads((tmp_path / f"{name}-{how}-true{rank}.json").read_text())
            for rank in writers
        }
        for series, target in itertools.product(("grad", "param"), NAMES):
            wanted = [r for r in writers if true[r][series][0][target][held] or held == WHOLE]
            assert run.ranks_of((series, target)) == wanted, (name, target)
            for rank in wanted:
                steps, found = run.line((series, target), rank=rank)
                # What is cut is whole no more when one of its ranks has left.
                assert steps.tolist() == ([0] if gone in written else list(range(STEPS))), (
                    name,
                    how,
                )
                expected = [true[rank][series][step][target][held] for step in steps.tolist()]
                assert found.tolist() == pytest.approx(expected, rel=1e-6), (name, rank, target)


def _expected(kind: str, world: int, followers: tuple[int, ...]) -> tuple[list[int], int]:
    """The ranks whose weights are written, and whether as pieces or, by the first, as a whole."""
    replicas = {
        "ddp": [(rank,) for rank in range(world)],
        "fsdp2": [tuple(range(world))],
        "hsdp": [(0, 1), (2, 3)],
    }[kind]
    for replica in replicas:
        if set(replica) <= set(followers):
            return list(replica), WHOLE
    return list(followers), PIECE
