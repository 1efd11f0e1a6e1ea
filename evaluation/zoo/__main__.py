"""`make zoo`: run the whole suite and print how often the culprit is named, and what cried wolf."""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import torch

from evaluation.zoo.models import ARCHITECTURES
from evaluation.zoo.record import Task
from evaluation.zoo.suite import TASKS, Case, Verdict, cases, judge

SHOWN_FINDINGS = 4
DTYPES = ("float32", "bfloat16", "float16")


def main() -> int:
    """Exit code 1 when a case could not be run at all."""
    parser = argparse.ArgumentParser(prog="python -m evaluation.zoo", description=__doc__)
    parser.add_argument("--task", choices=TASKS, action="append", help="only this task")
    parser.add_argument("--only", default="", help="only cases whose line contains this text")
    parser.add_argument("--seed", type=int, default=0, help="other weights and other data")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--misses", type=Path, help="write what missed, with the findings, here")
    parser.add_argument("--recordings", type=Path, help="keep recordings here and use them again")
    parser.add_argument("--models", action="store_true", help="the models of transformers instead")
    parser.add_argument("--kernels", action="store_true", help="wrong kernels instead")
    parser.add_argument("--confirm", action="store_true", help="prove findings by intervention")
    parser.add_argument("--dtype", choices=DTYPES, action="append", help="only this format")
    parser.add_argument("--architecture", action="append", help="only this model")
    parser.add_argument("--dumps", choices=("ours", "peer"), default="ours")
    options = parser.parse_args()
    if options.recordings is not None:
        options.recordings.mkdir(parents=True, exist_ok=True)
    if options.confirm:
        from evaluation.zoo.confirming import judge as judge_proofs

        return int(not judge_proofs())
    if options.kernels:
        return _judge_kernels(options)
    began = time.monotonic()
    every = model_cases() if options.models else cases
    listed = [c for c in every(options.task or TASKS, options.seed) if options.only in _title(c)]
    verdicts = []
    for verdict in judge(listed, options.workers, options.recordings):
        verdicts.append(verdict)
        print(f"{_title(verdict.case):78} {_outcome(verdict)}", flush=True)
    print(f"\n{_table(verdicts)}\n\n{len(verdicts)} cases in {time.monotonic() - began:.0f} s")
    if options.misses is not None:
        options.misses.write_text("\n".join(map(_account, filter(_missed, verdicts))))
    return int(any(verdict.error is not None for verdict in verdicts))


def model_cases() -> Callable[[Sequence[Task], int], list[Case]]:
    """The cases of the models of transformers, which takes seconds to load."""
    from evaluation.zoo.hugging_face.suite import cases as of_models

    return of_models


def _judge_kernels(options: argparse.Namespace) -> int:
    from evaluation.zoo.kernels.suite import cases as drawn
    from evaluation.zoo.kernels.suite import judge as judge_kernels
    from evaluation.zoo.kernels.table import account, is_flawless, outcome, table

    dtypes = [getattr(torch, name) for name in options.dtype or DTYPES]
    listed = drawn(
        options.task or TASKS, options.seed, options.architecture or tuple(ARCHITECTURES), dtypes
    )
    chosen = [case for case in listed if options.only in case.title]
    verdicts = []
    with tempfile.TemporaryDirectory() as scratch:
        root = options.recordings or Path(scratch)
        for verdict in judge_kernels(chosen, options.workers, root, options.dumps):
            verdicts.append(verdict)
            print(f"{verdict.case.title:100} {outcome(verdict)}", flush=True)
    print(f"\n{table(verdicts)}")
    if options.misses is not None:
        flawed = [verdict for verdict in verdicts if not is_flawless(verdict)]
        options.misses.write_text("\n".join(map(account, flawed)))
    return int(any(verdict.error is not None for verdict in verdicts))


def _title(case: Case) -> str:
    dtype = str(case.problem.dtype).removeprefix("torch.")
    return f"{case.task:10} {case.architecture:11} {dtype:8} {case.kind:9} {case.name}"


def _outcome(verdict: Verdict) -> str:
    if verdict.error is not None:
        return f"could not be run: {verdict.error[:120]}"
    if verdict.case.fault is None:
        return f"FALSE ALARM {verdict.findings[0]}" if verdict.findings else "silent"
    if verdict.place == 1:
        return "1" if len(verdict.findings) == 1 else f"1 of {len(verdict.findings)}"
    first = f"first named: {verdict.findings[0]}" if verdict.findings else "nothing found"
    return f"{verdict.place or 'MISSED'} ({first})"


def _missed(verdict: Verdict) -> bool:
    if verdict.case.fault is None:
        return bool(verdict.findings) or verdict.error is not None
    return verdict.place != 1 or len(verdict.findings) > 1


def _account(verdict: Verdict) -> str:
    lines = [f"{_title(verdict.case)}: {_outcome(verdict)}"]
    named = zip(verdict.findings, verdict.reasons, strict=True)
    lines += [f"    {found}: {reason}" for found, reason in list(named)[:SHOWN_FINDINGS]]
    lines += [f"    right: {sorted(verdict.right)[:SHOWN_FINDINGS]}"] if verdict.right else []
    return "\n".join(lines) + "\n"


def _table(verdicts: Sequence[Verdict]) -> str:
    lines = [
        "| task | faults | top-1 | top-3 | findings: median, 95 % | controls | false alarms |",
        "|---|---|---|---|---|---|---|",
    ]
    for task in TASKS:
        of_task = [verdict for verdict in verdicts if verdict.case.task == task]
        faults = [verdict for verdict in of_task if verdict.case.fault is not None]
        controls = [verdict for verdict in of_task if verdict.case.fault is None]
        first = sum(verdict.place == 1 for verdict in faults)
        third = sum((verdict.place or 99) <= 3 for verdict in faults)
        alarms = sum(bool(verdict.findings) for verdict in controls)
        lines.append(
            f"| {task} | {len(faults)} | {_share(first, faults)} | {_share(third, faults)} "
            f"| {_spread(faults)} | {len(controls)} | {alarms} |"
        )
    return "\n".join(lines)


def _spread(faults: Sequence[Verdict]) -> str:
    """Median and 95th percentile of the length of the list, both as numbers that occur."""
    counts = sorted(len(verdict.findings) for verdict in faults)
    if not counts:
        return "–"
    return f"{counts[(len(counts) - 1) // 2]}, {counts[math.ceil(0.95 * len(counts)) - 1]}"


def _share(count: int, of: Sequence[Verdict]) -> str:
    return f"{count} ({count / len(of):.0%})" if of else "–"


if __name__ == "__main__":
    sys.exit(main())
