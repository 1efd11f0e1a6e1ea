"""One alert a cause: some of `python -m evaluation.trend_cases`, and an older program."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from builder.series.run import TrendRun
from evaluation.trend_cases.__main__ import judged
from evaluation.trend_cases.faults import FAULTS, PLACES
from evaluation.trend_cases.models import TRAININGS
from evaluation.trend_cases.running import run
from msprobe.pytorch.trends import Trends
from tests.msprobe.pytorch.test_monitor_tables import Net

BY_NAME = {fault.name: fault for fault in FAULTS}


def test_the_program_that_gave_388_records_gives_two_alerts(tmp_path: Path) -> None:
    torch.manual_seed(1)
    net = Net()
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
    with Trends(tmp_path, net, optimizer, activations="all") as trends:
        for step in range(6):
            total = torch.zeros(())
            for micro in range(2):
                ids, wanted = torch.randint(0, 16, (2, 4)), torch.randint(0, 16, (2, 4))
                loss = F.cross_entropy(net(ids).reshape(-1, 16), wanted.reshape(-1)) / 2
                loss = loss * 50 if step == 3 else loss
                loss = loss * float("nan") if (step, micro) == (4, 1) else loss
                loss.backward()
                total += loss.detach()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            trends.step(loss=total)
    alerts = [(a.step, a.kind, a.target) for a in TrendRun(tmp_path).alerts()]
    assert alerts == [(3, "jump", ("loss", "loss")), (4, "not finite", ("loss", "loss"))]


def test_a_sound_training_is_silent(tmp_path: Path) -> None:
    run(TRAININGS["vision"], tmp_path, steps=200)
    assert TrendRun(tmp_path).alerts() == []


@pytest.mark.parametrize("name", ["loss x30", "NaN in a gradient", "output x8", "layer silent"])
def test_a_fault_is_one_alert_at_its_step(tmp_path: Path, name: str) -> None:
    fault = BY_NAME[name]
    run(TRAININGS["vision"], tmp_path, fault, PLACES["vision"])
    alerts = TrendRun(tmp_path).alerts()
    assert judged(fault, PLACES["vision"], alerts), alerts
