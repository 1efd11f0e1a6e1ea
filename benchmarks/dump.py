"""Cost of dumping: a dumped training step over a plain one, ours and the peer's, in one table.

usage: python benchmarks/dump.py [--peer PYTHON] [--rounds N] [CASE …]
`--peer` is the interpreter of an environment that has mindstudio-probe; without it ours alone.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
CASES: dict[str, tuple[str, str, str]] = {
    "built, not started": ("statistics", "mix", "statistics"),
    "L0 statistics": ("statistics", "L0", "statistics"),
    "L1 statistics": ("statistics", "L1", "statistics"),
    "mix statistics": ("statistics", "mix", "statistics"),
    "mix statistics, no sketch": ("statistics", "mix", "statistics"),
    "mix md5": ("statistics", "mix", "md5"),
    "mix tensor": ("tensor", "mix", "statistics"),
    "tiny calls": ("statistics", "L1", "statistics"),
}
FEWER = {"mix md5": 6, "mix tensor": 5}
GOALS = {
    "built, not started": "≤ 1.01",
    "L0 statistics": "≤ 1.4",
    "L1 statistics": "≤ 2.0",
    "mix statistics": "≤ 2.1",
    "mix statistics, no sketch": "0.25 less",
    "mix md5": "≤ 2.8",
    "mix tensor": "≤ 6.5, ≤ 370 MB",
    "tiny calls": "≤ 25 µs, constant",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", default=list(CASES))
    parser.add_argument("--peer", help="python of an environment with mindstudio-probe")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        print(json.dumps(measure(arguments.cases[0], arguments.rounds)))
        return
    print(header())
    for case in arguments.cases:
        ours = in_own_process(sys.executable, case, arguments.rounds, str(ROOT))
        peer = in_own_process(arguments.peer, case, arguments.rounds, "") if arguments.peer else {}
        print(f"| {case} | {told(case, peer)} | {told(case, ours)} | {GOALS[case]} |", flush=True)


def header() -> str:
    import torch

    machine = f"{os.cpu_count()} × {processor()}, Python {platform.python_version()}"
    return (
        f"{machine}, torch {torch.__version__}, one thread\n\n"
        "Dumped step ÷ plain step in CPU time, fastest of each (in wall time; a plain step)\n\n"
        "| run | peer | ours | goal |\n|---|---|---|---|"
    )


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(": ")[2]
    return platform.processor()


def in_own_process(python: str, case: str, rounds: int, path: str) -> dict[str, Any]:
    command = [python, "-W", "ignore", __file__, "--worker", "--rounds", str(rounds), case]
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        return {"error": done.stderr.strip().splitlines()[-1]}
    return json.loads(done.stdout.strip().splitlines()[-1])  # type: ignore[no-any-return]


def told(case: str, result: dict[str, Any]) -> str:
    if "error" in result:
        return f"failed: {result['error']}"
    if not result:
        return "–"
    if case == "tiny calls":
        return f"{result['first']:.0f} → {result['last']:.0f} µs a call"
    size = f", {result['values']:.2f} MB dump.json" if "mix statistics" in case else ""
    if case == "mix tensor":
        size = f", {result['megabytes']:.0f} MB in {result['files']} files"
    return f"{result['ratio']:.2f} ({result['wall']:.2f}; {result['plain']:.0f} ms){size}"


def measure(case: str, rounds: int) -> dict[str, Any]:
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    if case == "tiny calls":
        return measure_tiny_calls()
    model, step = small_gpt()
    before = timed(step, 2 * rounds)
    rounds = min(rounds, FEWER.get(case, rounds))
    with tempfile.TemporaryDirectory() as folder:
        debugger = build(folder, *CASES[case], sketch="no sketch" not in case)
        if case == "built, not started":
            return compared(before, timed(step, 2 * rounds))
        plain, dumped = [], []
        for number in range(rounds):
            plain += timed(step, 1)
            dumped += timed(lambda: dumped_step(debugger, model, step), 1)
            files = [f for f in Path(folder).rglob("*") if f.is_file()]
            size = sum(f.stat().st_size for f in files)
            values = sum(f.stat().st_size for f in files if f.name == "dump.json")
            shutil.rmtree(Path(folder) / f"step{number}", ignore_errors=True)
    sizes = {"megabytes": size / 1e6, "values": values / 1e6, "files": len(files)}
    return {**compared(plain, dumped), **sizes}


def dumped_step(debugger: Any, model: Any, step: Callable[[], None]) -> None:  # noqa: ANN401
    debugger.start(model)
    step()
    debugger.stop()
    debugger.step()


Times = tuple[float, float]
"""Seconds of CPU and of wall clock."""


def compared(plain: list[Times], dumped: list[Times]) -> dict[str, float]:
    """Ratios of the fastest steps, which other work on the machine disturbs least."""
    plain_cpu, plain_wall = (min(column) for column in zip(*plain))
    cpu, wall = (min(column) for column in zip(*dumped))
    return {"plain": plain_cpu * 1e3, "ratio": cpu / plain_cpu, "wall": wall / plain_wall}


def timed(step: Callable[[], None], rounds: int) -> list[Times]:
    times = []
    for _ in range(rounds):
        cpu, wall = time.process_time(), time.perf_counter()
        step()
        times.append((time.process_time() - cpu, time.perf_counter() - wall))
    return times


def build(folder: str, task: str, level: str, summary: str, sketch: bool = True) -> Any:  # noqa: ANN401 - ours or the peer's
    from msprobe.pytorch import PrecisionDebugger

    config = {"task": task, "dump_path": folder, "rank": [], "step": [], "level": level}
    if not sketch:  # a key that the peer does not know
        config["sketch"] = False
    config[task] = {"scope": [], "list": [], "data_mode": ["all"], "summary_mode": summary}
    path = Path(tempfile.gettempdir()) / f"bench_dump_{os.getpid()}.json"
    path.write_text(json.dumps(config), encoding="utf-8")
    try:
        return PrecisionDebugger(config_path=str(path))
    finally:
        path.unlink()


def measure_tiny_calls(calls: int = 12_000) -> dict[str, Any]:
    import torch

    with tempfile.TemporaryDirectory() as folder:
        debugger = build(folder, *CASES["tiny calls"])
        value = torch.ones(4)
        debugger.start()
        times = []
        for _ in range(calls // 500):
            began = time.process_time()
            for _ in range(500):
                value = value * 1.0
            times.append((time.process_time() - began) / 500 * 1e6)
        debugger.stop()
        debugger.step()
    quarter = len(times) // 4
    return {"first": min(times[:quarter]), "last": min(times[-quarter:])}


def small_gpt(layers: int = 6, width: int = 256) -> tuple[Any, Callable[[], None]]:
    import torch
    import torch.nn.functional as F
    from torch import nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.fc1, self.fc2 = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            batch, length, _ = x.shape
            q, k, v = (
                part.reshape(batch, length, 4, width // 4).transpose(1, 2)
                for part in self.qkv(self.ln1(x)).chunk(3, -1)
            )
            weights = torch.softmax(torch.matmul(q, k.transpose(-1, -2)) / (width // 4) ** 0.5, -1)
            mixed = torch.matmul(weights, v).transpose(1, 2).reshape(batch, length, width)
            x = x + self.proj(mixed)
            return x + self.fc2(F.gelu(self.fc1(self.ln2(x))))

    class Gpt(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tokens, self.positions = nn.Embedding(512, width), nn.Embedding(64, width)
            self.blocks = nn.ModuleList(Block() for _ in range(layers))
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 512)

        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            x = self.tokens(ids) + self.positions(torch.arange(ids.shape[1]))
            for block in self.blocks:
                x = block(x)
            return self.head(self.norm(x))

    model = Gpt()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    ids = torch.randint(0, 512, (4, 65))

    def step() -> None:
        optimizer.zero_grad()
        logits = model(ids[:, :-1])
        F.cross_entropy(logits.reshape(-1, 512), ids[:, 1:].reshape(-1)).backward()
        optimizer.step()

    for _ in range(2):
        step()
    return model, step


if __name__ == "__main__":
    main()
