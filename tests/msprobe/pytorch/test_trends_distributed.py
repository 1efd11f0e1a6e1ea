"""Global values under DDP, FSDP, tensor parallelism and both at once against one process."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from builder.series.run import TrendRun
from tests.msprobe.pytorch.trend_models import batches, make, train
from tests.msprobe_core.two_ranks import run_ranks

pytestmark = pytest.mark.skipif(
    not torch.distributed.is_available(), reason="torch without torch.distributed"
)
PROGRAM = Path(__file__).with_name("trend_ranks.py")
ROUNDING = 2e-4
"""Sums in another order, over four updates of Adam, which divides by small second moments."""
KINDS = ("grad", "exp_avg", "exp_avg_sq", "param", "ratio")


@pytest.fixture(scope="module")
def single(tmp_path_factory: pytest.TempPathFactory) -> TrendRun:
    from msprobe.pytorch.trends import Trends

    folder = tmp_path_factory.mktemp("single")
    net, optimizer = make()
    with Trends(folder, net, optimizer) as trends:
        train(net, optimizer, batches(4), trends.step)
    return TrendRun(folder)


@pytest.mark.parametrize(("kind", "world"), [("ddp", 2), ("fsdp2", 2), ("tp", 2), ("2d", 4)])
def test_values_are_those_of_one_process(
    tmp_path: Path, single: TrendRun, kind: str, world: int
) -> None:
    run_ranks(world, PROGRAM, str(tmp_path), kind)
    run = TrendRun(tmp_path / kind)
    assert sorted(run.ranks) == list(range(world))
    keys = [target.key for target in single.targets if target.kind in KINDS]
    assert {t.key for t in run.targets if t.kind in KINDS} == set(keys)
    shapes, alone = ({t.key: t.shape for t in each.targets} for each in (run, single))
    for key in keys:
        assert run.ranks_of(key) == _writers(kind, key[1])
        assert shapes[key] == alone[key]
        assert run.line(key, "size")[1].tolist() == single.line(key, "size")[1].tolist()
        for statistic in ("norm", "min", "max"):
            found, wanted = run.line(key, statistic)[1], single.line(key, statistic)[1]
            # The sampled positions of a ratio lie elsewhere in a shard; here they are all elements.
            assert np.allclose(found, wanted, rtol=ROUNDING, atol=1e-7), (key, statistic)
    for rank in range(world):
        assert len(run.line(("loss", "loss"), rank=rank)[0]) == 4
    norm = ("grad_norm", "grad_norm")
    assert run.line(norm)[1] == pytest.approx(single.line(norm)[1], rel=ROUNDING)


def _writers(kind: str, name: str) -> list[int]:
    """The first rank; nothing says that what tensor parallelism leaves whole is the same on all."""
    return [0, 1] if kind in ("tp", "2d") and ".fc" not in name else [0]


def test_pieces_of_flat_shards_add_up(tmp_path: Path, single: TrendRun) -> None:
    run_ranks(2, PROGRAM, str(tmp_path), "fsdp1")
    run = TrendRun(tmp_path / "fsdp1")
    for name in ("layers.1.fc1.weight", "head.bias"):
        for kind in ("grad", "param"):
            found, wanted = run.line((kind, name))[1], single.line((kind, name))[1]
            assert np.allclose(found, wanted, rtol=ROUNDING), (kind, name)


def test_replicas_that_part_are_named(tmp_path: Path) -> None:
    run_ranks(2, PROGRAM, str(tmp_path), "tie")
    alerts = [a for a in TrendRun(tmp_path / "tie").alerts() if a.kind == "disagree"]
    assert [(a.step, a.target) for a in alerts if a.rank == 0] == [(2, ("param", "head.weight"))]


def test_replicas_that_agree_are_silent(tmp_path: Path) -> None:
    run_ranks(2, PROGRAM, str(tmp_path), "ddp")
    assert TrendRun(tmp_path / "ddp").alerts() == []
    facts = json.loads((tmp_path / "ddp" / "run.json").read_text())
    assert facts["world_size"] == 2


def test_what_a_rank_does_not_measure_is_left_out_and_others_go_on(
    tmp_path: Path, single: TrendRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BREAK_MONITOR", "1")
    run_ranks(2, PROGRAM, str(tmp_path), "fsdp2")
    run = TrendRun(tmp_path / "fsdp2")
    key = ("param", "head.weight")
    # A sum over what is there would look like a fall of the weight.
    assert run.line(key)[0].tolist() == [0]
    assert run.line(key, "size")[1][0] == single.line(key, "size")[1][0]
    assert run.line(("loss", "loss"))[0].tolist() == [0, 1, 2, 3]
