"""What following a training costs: python -m benchmarks.trend_cost [options], a line a variant.

CPU time of a step on one thread. Every variant has a model of its own that stays followed; the
variants take turns step by step, so that a step with following is divided by the step without that
stands beside it. `off again` is a second model without following: how far it lies from 1 is the
noise. With `--peer` mindstudio-probe's monitors take part from their own environment in the same
turns, divided by steps of their own process.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
OURS: dict[str, dict[str, Any] | None] = {
    "off": None,
    "off again": None,
    "weights, gradients, state, ratio": {"activations": None},
    "and activations of blocks": {"activations": "blocks"},
    "and activations of all modules": {"activations": "all"},
}
PEERS = ("off", "peer v1: weights, gradients, state", "peer v2: weights, gradients, state")
TABLES = {
    "targets": {},
    "ops": ["min", "max", "mean", "norm"],
    "wg_distribution": True,
    "mv_distribution": True,
    "param_distribution": True,
}
MONITORS = {
    "module": {"enabled": False},
    "weight_grad": {"enabled": True},
    "optimizer": {"enabled": True, "mv_distribution": True},
    "param": {"enabled": True, "param_distribution": True},
}
Step = Callable[[], float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--width", type=int, default=384)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--rows", type=int, default=8)
    parser.add_argument("--length", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument(
        "--only", nargs="*", help="beginnings of the variants' names; off is always"
    )
    parser.add_argument("--peer", help="python of an environment with mindstudio-probe")
    parser.add_argument("--worker", choices=("ours", "peer"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work(options)
        return
    workers = [(sys.executable, "ours", str(ROOT))]
    if options.peer:
        workers.append((options.peer, "peer", ""))
    with tempfile.TemporaryDirectory() as folder:
        report(options, [started(*worker, folder) for worker in workers])


def started(python: str, name: str, path: str, folder: str) -> subprocess.Popen[str]:
    """A process that makes one step of each of its variants whenever it is told to."""
    command = [python, "-W", "ignore", __file__, *sys.argv[1:], "--worker", name]
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(command, text=True, env=environment, cwd=folder, **pipes)  # type: ignore[call-overload,no-any-return]


def report(options: argparse.Namespace, workers: list[subprocess.Popen[str]]) -> None:
    """Let the workers take turns; print the medians of the ratios and between what they lie."""
    facts = [told(worker) for worker in workers]
    print(facts[0]["model"])
    times: list[list[dict[str, float]]] = [[] for _ in workers]
    for _ in range(options.rounds):
        for worker, rounds in zip(workers, times, strict=True):
            assert worker.stdin is not None
            print("step", file=worker.stdin, flush=True)
            rounds.append(told(worker))
    for worker, rounds in zip(workers, times, strict=True):
        assert worker.stdin is not None
        worker.stdin.close()
        worker.wait()
        base = sorted(each["off"] for each in rounds)[len(rounds) // 2]
        print(f"off: {base:.3f} s")
        for name in (name for name in rounds[0] if name != "off"):
            ratios = sorted(each[name] / each["off"] for each in rounds)
            spread = f"{ratios[0]:.3f} to {ratios[-1]:.3f}"
            print(f"{name}: {ratios[len(ratios) // 2]:.3f} of off ({spread})", flush=True)


def told(worker: subprocess.Popen[str]) -> dict[str, Any]:
    """The next line of a worker that is a JSON object; others are its libraries' own."""
    assert worker.stdout is not None
    for line in worker.stdout:
        if line.startswith("{"):
            return json.loads(line)  # type: ignore[no-any-return]
    raise SystemExit(f"{worker.args!r} ended with {worker.wait()}")


def work(options: argparse.Namespace) -> None:
    """Make a step of each variant for each line that comes in."""
    import torch

    torch.set_num_threads(1)
    names = OURS if options.worker == "ours" else PEERS
    asked = tuple(options.only or ("",))
    variants = {
        name: variant(options, name) for name in names if name == "off" or name.startswith(asked)
    }
    for step in variants.values():
        step()  # buffers, states and columns are made
    print(json.dumps({"model": described(options)}), flush=True)
    for _ in sys.stdin:
        print(json.dumps({name: step() for name, step in variants.items()}), flush=True)


def variant(options: argparse.Namespace, name: str) -> Step:
    """A model of its own, followed as the name says; what is returned makes a step."""
    import torch
    from torch.nn import functional as F

    torch.manual_seed(0)
    model = make(options.width, options.layers)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    ids = torch.randint(0, 512, (options.rows, options.length))
    end = follow(name, model, optimizer)

    def step() -> float:
        began = time.process_time()
        F.cross_entropy(model(ids).flatten(0, 1), ids.flatten()).backward()
        optimizer.step()
        optimizer.zero_grad()
        end()
        return time.process_time() - began

    return step


def follow(name: str, model: Any, optimizer: Any) -> Callable[[], object]:  # noqa: ANN401  # of torch
    """Follow a model; what is returned ends a step, with all that other threads do for it."""
    if name.startswith("off"):
        return lambda: None
    folder = Path.cwd() / re.sub(r"\W+", "-", name)  # the peer takes no comma in a path
    folder.mkdir(parents=True)
    if name in OURS:
        from msprobe.pytorch.trends import Trends

        trends = Trends(folder, model, optimizer, **(OURS[name] or {}))
        return lambda: (trends.step(), trends._recorder.found(wait=True))
    config = folder / "config.json"
    os.environ["MONITOR_OUTPUT_DIR"] = str(folder)
    if name.startswith("peer v1"):
        from msprobe.pytorch import TrainerMon

        config.write_text(json.dumps(TABLES), encoding="utf-8")
        TrainerMon(str(config), params_have_main_grad=False).set_monitor(model, optimizer)
    else:
        from msprobe.core.monitor_v2.trainer import TrainerMonitorV2

        config.write_text(json.dumps({"output_dir": str(folder), "monitors": MONITORS}))
        TrainerMonitorV2(str(config)).start(model=model, optimizer=optimizer, grad_acc_steps=1)
    return lambda: None


def described(options: argparse.Namespace) -> str:
    """The model and its batch in words."""
    parameters = sum(p.numel() for p in make(options.width, options.layers).parameters())
    tokens = options.rows * options.length
    return (
        f"d {options.width}, {options.layers} layers, {parameters / 1e6:.1f} M parameters, "
        f"{tokens} tokens a step, {options.rounds} rounds"
    )


def make(width: int, layers: int) -> Any:  # noqa: ANN401  # torch comes in with a worker only
    """A transformer whose blocks, attention and MLP are modules."""
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.attn = nn.MultiheadAttention(width, 4, batch_first=True)
            self.mlp = nn.Sequential(
                nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
            )

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            normed = self.norm1(x)
            x = x + self.attn(normed, normed, normed, need_weights=False)[0]
            return x + self.mlp(self.norm2(x))

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.emb = nn.Embedding(512, width)
            self.layers = nn.ModuleList([Block() for _ in range(layers)])
            self.head = nn.Linear(width, 512)

        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            x = self.emb(ids)
            for layer in self.layers:
                x = layer(x)
            return self.head(x)

    return Model()


if __name__ == "__main__":
    main()
