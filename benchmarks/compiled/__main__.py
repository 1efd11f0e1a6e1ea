"""`python -m benchmarks.compiled PAGE`: check all models in two dtypes; write the page's table.

Each runs in a process of its own and is kept in a file; a run that was ended goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import torch

from benchmarks.compiled.architectures import ARCHITECTURES, Architecture
from benchmarks.compiled.check import Outcome, check
from benchmarks.page_table import measured_with_torch, put_table

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
_LONGEST = 1800  # seconds: inductor takes a minute or two for one of these on one core


def main() -> int:
    """Check what the kept file lacks; code 1 when something was not as it should be."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compiled", description=__doc__)
    parser.add_argument("page", type=Path, help="the page that holds the table")
    parser.add_argument("--kept", type=Path, default=Path("build/compiled-models.jsonl"))
    parser.add_argument("--only", nargs="*", default=[], help="names of models [all]")
    parser.add_argument("--dtypes", nargs="*", choices=DTYPES, default=list(DTYPES))
    parser.add_argument("--one", nargs=2, metavar=("MODEL", "DTYPE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one is not None:
        return _one(*options.one)
    kept = _read(options.kept)
    for architecture in ARCHITECTURES:
        for dtype in options.dtypes:
            key = f"{architecture.name} {dtype}"
            if key in kept or (options.only and architecture.name not in options.only):
                continue
            begun = time.monotonic()
            kept[key] = _in_its_process(architecture.name, dtype)
            _keep(options.kept, key, kept[key])
            print(f"{key}: {kept[key]} ({time.monotonic() - begun:.0f} s)", flush=True)
    rows = [_row(architecture, kept) for architecture in ARCHITECTURES]
    head = f"{measured_with_torch()}."
    put_table(options.page, "compiled models", head, ["model", *DTYPES], rows)
    return 0 if kept and all(outcome.is_good for outcome in kept.values()) else 1


def _one(name: str, dtype: str) -> int:
    torch.set_num_threads(1)
    (architecture,) = (each for each in ARCHITECTURES if each.name == name)
    print(json.dumps(asdict(check(architecture, DTYPES[dtype]))))
    return 0


def _in_its_process(name: str, dtype: str) -> Outcome:
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.compiled", "-", "--one"]
    try:
        ran = subprocess.run(
            [*command, name, dtype],
            check=False,
            capture_output=True,
            text=True,
            timeout=_LONGEST,
        )
    except subprocess.TimeoutExpired:
        return Outcome(failed=f"took more than {_LONGEST} s")
    lines = ran.stdout.splitlines()
    if ran.returncode or not lines:
        return Outcome(failed=(ran.stderr.splitlines() or ["ended without a word"])[-1][:200])
    return Outcome(**json.loads(lines[-1]))


def _read(file: Path) -> dict[str, Outcome]:
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    members = (json.loads(line) for line in lines)
    return {each.pop("key"): Outcome(**each) for each in members}


def _keep(file: Path, key: str, outcome: Outcome) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps({"key": key, **asdict(outcome)}) + "\n")


def _row(architecture: Architecture, kept: dict[str, Outcome]) -> str:
    cells = (told(kept.get(f"{architecture.name} {dtype}")) for dtype in DTYPES)
    return f"| {architecture.name} ({architecture.library}) | {' | '.join(cells)} |"


def told(outcome: Outcome | None) -> str:
    """An outcome in a few words."""
    if outcome is None:
        return "not run"
    if outcome.failed:
        return f"not checked: {outcome.failed}"
    changed = f"{outcome.changed} of {outcome.results} changed" if outcome.changed else "bit-equal"
    silent = f"{outcome.named} NAMED" if outcome.named else "silent"
    if outcome.way:
        silent = "another way"
    if outcome.less_exact:
        silent = f"gradients up to {outcome.less_exact:.0f} times as far from float64 as eager's"
    fused = f" ({outcome.fused} no tensors when compiled)" if outcome.fused else ""
    return f"{changed}, {outcome.found} of {outcome.outputs} found{fused}, {silent}"


if __name__ == "__main__":
    sys.exit(main())
