"""`make placements`: how often `msprobe check` alone names a fault; sound twins must be silent."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import get_args

from evaluation.placements.families import CASES
from evaluation.placements.suite import PRECISIONS, Against, Verdict, judge

_THIRDS = ("first", "second", "late", "held", "real", "real late")


def main() -> None:
    """Print a line a run and the shares below."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="a part of the names of cases")
    parser.add_argument("--third", choices=_THIRDS)
    parser.add_argument("--precision", choices=tuple(PRECISIONS))
    parser.add_argument("--against", choices=get_args(Against), default="none")
    options = parser.parse_args()
    thirds = (options.third,) if options.third else _THIRDS
    precisions = (options.precision,) if options.precision else tuple(PRECISIONS)
    chosen = [c for c in CASES if options.only in c.name and c.third in thirds]
    verdicts = []
    for verdict in judge(chosen, precisions, options.against):
        verdicts.append(verdict)
        print(_line(verdict), flush=True)
    for third in thirds:
        for precision in precisions:
            own = [v for v in verdicts if (v.case.third, v.precision) == (third, precision)]
            print(f"{third:9} {precision:8} {_shares(own)}")


def _line(verdict: Verdict) -> str:
    mark = "  " if verdict.is_right else "! "
    side = "fault" if verdict.wrong else "sound"
    first = f"  {verdict.said[0][:240]}" if verdict.said else ""
    head = f"{mark}{verdict.case.third:9} {side} {verdict.precision:8} {verdict.case.name:38}"
    return f"{head} {verdict.answer:9} {len(verdict.said):3}{first}"


def _shares(verdicts: Sequence[Verdict]) -> str:
    faults = [v.answer for v in verdicts if v.wrong]
    sound = [v.answer for v in verdicts if not v.wrong]
    listed = ("first", "near", "elsewhere", "silent", "error")
    said = ", ".join(f"{faults.count(answer)} {answer}" for answer in listed)  # type: ignore[arg-type]
    return f"of {len(faults)} faults {said}; of {len(sound)} sound {sound.count('silent')} silent"


if __name__ == "__main__":
    main()
