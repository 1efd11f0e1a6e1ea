"""`python -m benchmarks.situations FILE`: all situations, each in a process; write FILE's table."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

import benchmarks.situations.families  # noqa: F401 - lists them
from benchmarks.situations.run import SPECS, Outcome, run_situation
from benchmarks.situations.situation import SITUATIONS, Situation

_START, _END = "<!-- situations -->", "<!-- end of situations -->"
_LIMIT = 900  # seconds; the slowest took 60 on an idle machine
_MOST_WITHOUT = 0.02


def main() -> int:
    """Run everything, or some by name; code 1 when a recording left a trace."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.situations", description=__doc__)
    parser.add_argument("file", type=Path, nargs="?", help="the page that holds the table")
    parser.add_argument("--only", nargs="*", help="names, or families")
    parser.add_argument("--one", help="run one here, and print its outcomes as JSON")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    if options.one:
        return _one(SITUATIONS[options.one])
    chosen = [
        each
        for each in SITUATIONS.values()
        if not options.only or each.name in options.only or each.family in options.only
    ]
    with ThreadPoolExecutor(options.workers) as pool:
        found = list(pool.map(_in_a_process, chosen))
    rows = [_row(each, result) for each, result in zip(chosen, found, strict=True)]
    if options.file is not None:
        _write(options.file, rows, chosen, found)
    return 0 if all(_is_good(*each) for each in zip(chosen, found, strict=True)) else 1


def _one(situation: Situation) -> int:
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        outcomes = run_situation(situation, Path(folder))
    print(f"OUTCOMES {json.dumps([asdict(each) for each in outcomes])}", flush=True)
    return 0


def _in_a_process(situation: Situation) -> list[Outcome] | str:
    """The outcomes of a situation, or what has kept it from having any."""
    if situation.missing:
        return f"not run: {', '.join(situation.missing)} is not installed"
    command = [sys.executable, "-m", "benchmarks.situations", "--one", situation.name]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_LIMIT, env=environment, check=False
        )
    except subprocess.TimeoutExpired:
        result: list[Outcome] | str = f"no end after {_LIMIT} s"
    else:
        lines = [each for each in done.stdout.splitlines() if each.startswith("OUTCOMES ")]
        last = (done.stderr.strip().splitlines() or ["nothing said"])[-1]
        result = (
            [Outcome(**each) for each in json.loads(lines[0].removeprefix("OUTCOMES "))]
            if lines
            else f"exit code {done.returncode}: {last[:200]}"
        )
    _tell(situation, result)
    return result


def _tell(situation: Situation, result: list[Outcome] | str) -> None:
    print(_row(situation, result), flush=True)
    for outcome in result if isinstance(result, list) else ():
        for kind in ("differs", "left", "broken"):
            for line in getattr(outcome, kind)[:4]:
                print(f"    {outcome.level} {outcome.task} {kind}: {line}", flush=True)
        if outcome.without_numbers and not situation.without_numbers:
            share = f"{outcome.without_numbers} of {outcome.records}"
            print(f"    {outcome.level} {outcome.task} without numbers: {share}", flush=True)
            for line in outcome.examples:
                print(f"        {line}", flush=True)


def _is_good(situation: Situation, result: list[Outcome] | str) -> bool:
    if isinstance(result, str):
        return result.startswith("not run")
    return all(each.is_good for each in result)


def _row(situation: Situation, result: list[Outcome] | str) -> str:
    head = f"| {situation.family} | {situation.name} "
    if isinstance(result, str):
        return f"{head}| {result} | | | | |"
    counts = [
        sum(len(getattr(each, kind)) for each in result) for kind in ("differs", "left", "broken")
    ]
    records = sum(each.records for each in result)
    without = sum(each.without_numbers for each in result)
    reason = f": {situation.without_numbers}" if without and situation.without_numbers else ""
    return f"{head}| {' | '.join(map(str, counts))} | {records:,} | {without:,}{reason} |"


def _write(page: Path, rows: list[str], chosen: list[Situation], found: list[Any]) -> None:
    text = page.read_text(encoding="utf-8")
    before, started, rest = text.partition(_START)
    _, ended, after = rest.partition(_END)
    if not (started and ended):
        raise SystemExit(f"{page}: no {_START} … {_END}")
    run = [each for each in zip(chosen, found, strict=True) if isinstance(each[1], list)]
    records = sum(each.records for _, result in run for each in result)
    missing = sum(
        each.without_numbers for one, result in run for each in result if not one.without_numbers
    )
    good = sum(_is_good(*each) for each in run)
    lines = [
        f"Measured on {time.strftime('%Y-%m-%d')} with torch {torch.__version__} on Python "
        f"{platform.python_version()}: {good} of {len(run)} situations without a trace at all "
        f"{len(SPECS)} levels and tasks; {missing:,} of {records:,} records without numbers that "
        f"have no reason for it ({missing / max(records, 1):.2%}; at most {_MOST_WITHOUT:.0%}).",
        "",
        "| family | situation | differs | left | broken | records | without numbers |",
        "|---|---|---|---|---|---|---|",
        *rows,
    ]
    page.write_text(f"{before}{_START}\n{chr(10).join(lines)}\n{_END}{after}", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
