"""However a training ends, the tables hold all steps that had ended by then."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

STEPS, STRETCH = 7, 4
PROGRAM = """
import os, signal, sys, torch
from torch import nn
from {module} import {monitor}
end, config = sys.argv[1:]
net = nn.Linear(4, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
monitor = {monitor}(config)
monitor.{begin}
for step in range({steps}):
    net(torch.randn(3, 4)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
if end == "exception":
    raise RuntimeError("the training ends here")
if end != "normal":
    os.kill(os.getpid(), getattr(signal, end))
"""
FIRST = ("msprobe.pytorch", "TrainerMon", "set_monitor(net, optimizer=optimizer)")
SECOND = (
    *("msprobe.core.monitor_v2.trainer", "TrainerMonitorV2"),
    "start(model=net, optimizer=optimizer)",
)
ENDS = {"normal": 0, "exception": 1, "SIGTERM": -signal.SIGTERM, "SIGKILL": -signal.SIGKILL}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("version", [FIRST, SECOND], ids=["v1", "v2"])
def test_no_step_is_lost_that_had_ended(
    version: tuple[str, str, str], end: str, tmp_path: Path
) -> None:
    module, monitor, begin = version
    program, config = tmp_path / "train.py", tmp_path / "config.json"
    program.write_text(
        PROGRAM.format(module=module, monitor=monitor, begin=begin, steps=STEPS), encoding="utf-8"
    )
    asked = {"ops": ["norm"], "step_count_per_record": STRETCH}
    first = {"targets": {}, "wg_distribution": True, "mv_distribution": True}
    second = {"output_dir": str(tmp_path), "monitors": {"param": {"param_distribution": True}}}
    second["monitors"]["param"]["enabled"] = True  # type: ignore[index]
    config.write_text(json.dumps({**asked, **(first if version is FIRST else second)}))
    ended = subprocess.run(
        [sys.executable, str(program), end, str(config)],
        env={**os.environ, "MONITOR_OUTPUT_DIR": str(tmp_path / "out")},
        capture_output=True,
        check=False,
        text=True,
    )
    assert ended.returncode == ENDS[end], ended.stderr
    tables = sorted(tmp_path.rglob("*reduced_*.csv" if version is FIRST else "param_*.csv"))
    assert len(tables) >= 2
    steps: set[int] = set()
    for path in tables:
        with path.open(encoding="utf-8", newline="") as file:
            steps |= {int(row["step"]) for row in csv.DictReader(file)}
    assert steps == set(range(STEPS))
