"""What first differs from an earlier run, saved: python examples/first_difference.py OUT

The earlier run wrote checksums; this one saves nothing until a checksum differs.
"""

from __future__ import annotations

import json
from pathlib import Path

import torch
from net import ModuleOP, out_folder

from msprobe.pytorch import PrecisionDebugger, seed_all

folder = Path(out_folder())


def run(name: str, task: str, section: dict[str, object], scale: float) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / f"{name}.json"
    settings = {"task": task, "dump_path": str(folder / name), "level": "L1", task: section}
    config.write_text(json.dumps(settings), encoding="utf-8")
    debugger = PrecisionDebugger(config_path=config)
    seed_all()
    model = ModuleOP()
    with debugger.recording():
        model(torch.tanh(torch.randn(4, 8) * scale)).sum().backward()
    debugger.close()


run("earlier", "statistics", {"summary_mode": "md5"}, scale=1.0)
earlier = {"summary_mode": "md5", "bench_path": str(folder / "earlier"), "diff_nums": 1}
run("now", "tensor", earlier, scale=1.001)
