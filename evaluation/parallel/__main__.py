"""`make parallel`: which parallel layouts are silent, and how often faults are named."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import get_args

from evaluation.parallel.size import PRECISIONS
from evaluation.parallel.suite import TASKS, Against, Verdict, cases, judge


def main() -> None:
    """Print a line a case and the shares below."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", choices=TASKS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="regular expression for names of cases")
    parser.add_argument(
        "--dumps",
        choices=("ours", "flags", "peer"),
        default="ours",
        help="what is left of our members; without the layout, flags tell it",
    )
    parser.add_argument(
        "--precision", choices=PRECISIONS, default="float32", help="format of the numbers"
    )
    parser.add_argument(
        "--against",
        choices=get_args(Against),
        default="benchmark",
        help="hold runs against a sound one of the same layout, or, by `msprobe check`, none",
    )
    parser.add_argument("--kept", type=Path, help="folder of recordings that are used again")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    tasks = (options.task,) if options.task else TASKS
    verdicts = []
    listed = cases(
        tasks, options.seed, options.only, options.dumps, options.precision, options.against
    )
    for verdict in judge(listed, options.processes, options.kept):
        verdicts.append(verdict)
        print(_line(verdict), flush=True)
    for task in tasks:
        _print_shares(task, [v for v in verdicts if v.case.task == task])


def _line(verdict: Verdict) -> str:
    case = verdict.case
    head = f"{case.task:10} {case.name:34}"
    if verdict.error is not None:
        return f"{head} ERROR {verdict.error}"
    known = verdict.compared + verdict.set_aside
    coverage = f"{verdict.compared / known:4.0%} compared" if known else "nothing compared"
    if case.fault is None:
        said = "silent" if not verdict.findings else f"{len(verdict.findings)} findings"
    else:
        said = f"place {verdict.place}" if verdict.place else "not named"
        said += {True: ", ranks right", False: ", ranks wrong", None: ""}[verdict.right_ranks]
    if case.fault is not None:
        said += f", {len(verdict.findings)} findings"
    first = f"  {verdict.findings[0]}: {verdict.reasons[0]}" if verdict.findings else ""
    return f"{head} {said:24} {coverage}{first}"


def _print_shares(task: str, verdicts: Sequence[Verdict]) -> None:
    sound = [v for v in verdicts if v.case.fault is None]
    faults = [v for v in verdicts if v.case.fault is not None]
    ranked = [
        v for v in faults if v.right_ranks is not None or (v.case.fault and v.case.fault.ranks)
    ]
    silent = sum(1 for v in sound if v.error is None and not v.findings and v.compared)
    print(f"\n{task}: {silent} of {len(sound)} sound pairs silent")
    known = [v.compared / (v.compared + v.set_aside) for v in sound if v.compared]
    if known:
        aside = sum(v.set_aside for v in sound) / sum(v.compared + v.set_aside for v in sound)
        print(f"{task}: in sound pairs {aside:.1%} set aside, compared at least {min(known):.0%}")
    for most in (1, 3):
        right = sum(1 for v in faults if v.place is not None and v.place <= most)
        print(f"{task}: {right} of {len(faults)} faults named in the first {most}")
    counts = sorted(len(v.findings) for v in faults if v.findings)
    if counts:
        most = counts[min(len(counts) - 1, int(0.95 * len(counts)))]
        print(f"{task}: findings per fault, median {median(counts):g}, of 95 % at most {most}")
    print(
        f"{task}: guilty ranks right in {sum(bool(v.right_ranks) for v in ranked)} of {len(ranked)}"
    )


if __name__ == "__main__":
    main()
