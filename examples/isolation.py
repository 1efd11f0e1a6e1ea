"""A source told from a carrier: python examples/isolation.py OUT

Both layers of the problem run differ from the benchmark, but only the first computes wrongly. Run
on the benchmark's inputs, the second agrees with it: it only carried the error on.
"""

from __future__ import annotations

import json
from pathlib import Path

import torch
from net import ModuleOP, out_folder

from msprobe.pytorch import PrecisionDebugger, seed_all

folder = Path(out_folder())


def run(name: str, task: str, fault: float, **settings: object) -> float:
    """Dump one step; the largest output of `linear_2`."""
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / f"{name}.json"
    config.write_text(json.dumps({"level": "mix", **settings}), encoding="utf-8")
    debugger = PrecisionDebugger(config_path=config, task=task, dump_path=folder / name)
    seed_all()
    model = ModuleOP()
    x = torch.randn(4, 8)
    with torch.no_grad():
        model.linear_1.weight *= fault
    with debugger.recording(model):
        model(x)
    debugger.close()
    (dump,) = (folder / name).glob("step0/*/dump.json")
    entry = json.loads(dump.read_text(encoding="utf-8"))["data"]["Module.linear_2.Linear.forward.0"]
    return float(entry["output"][0]["Max"])


benchmark = run("benchmark", "tensor", fault=1.0)
problem = run("problem", "statistics", fault=1.5)
load = {"path": str(folder / "benchmark"), "modules": ["linear_2"]}
isolated = run("isolated", "statistics", fault=1.5, load=load)
print(f"linear_2: benchmark {benchmark:.6f}, problem {problem:.6f}, isolated {isolated:.6f}")
