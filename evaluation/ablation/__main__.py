"""`make ablation`: what each part of the diagnosis does, told by every suite without it.

Everything is recorded and compared once, and kept where a folder is given; then the diagnosis runs
over all of it with one part switched off at a time. A part that nothing needs is gone: its line of
the table says so.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from evaluation.ablation.parts import BY_EXCESS, BY_SCORES, GAINS, NOTHING, Part
from evaluation.ablation.work import (
    Compared,
    Kind,
    Tally,
    decide,
    outcome_without,
    parallel_layouts,
    releases,
    seeded_bugs,
    wrong_kernels,
)
from evaluation.zoo.models import ARCHITECTURES

Suite = Callable[[argparse.Namespace], Iterator[Compared]]
EXCESS: dict[str, Suite] = {
    "seeded bugs": lambda o: seeded_bugs(o.kept / "zoo", o.seed, o.every),
    "kernels, one": lambda o: _kernels(o, "bug"),
    "kernels, two": lambda o: _kernels(o, "two"),
    "kernels, controls": lambda o: _kernels(o, "sound"),
    "releases, bugs": lambda o: releases(o.root, o.kept / "releases", o.every_release, "bug"),
    "releases, sound": lambda o: releases(o.root, o.kept / "releases", o.every_release, "sound"),
}
"""Suites whose elements were seen, which are judged by excess."""
SCORES: dict[str, Suite] = {
    "sketches left out": lambda o: seeded_bugs(o.kept / "zoo", o.seed, o.every, "no sketches"),
    "dumps of msprobe": lambda o: seeded_bugs(o.kept / "zoo", o.seed, o.every, "peer"),
    "merged, faults": lambda o: _layouts(o, "bug"),
    "merged, sound": lambda o: _layouts(o, "sound"),
}
"""Suites that are judged by scores."""


def main() -> None:
    """Print a line of the table for each part."""
    options = _options()
    suites = SCORES if options.scores else EXCESS
    chosen = {name: make for name, make in suites.items() if options.only in name}
    parts = {NOTHING: [], **GAINS, **(BY_SCORES if options.scores else BY_EXCESS)}
    if options.part:
        parts = {name: parts[name] for name in (NOTHING, *options.part)}
    if options.together:
        named = options.together.split("; ")
        parts = {NOTHING: [], "all of these": [part for name in named for part in parts[name]]}
    with tempfile.TemporaryDirectory() as folder:
        options.kept = options.kept or Path(folder)
        columns = {n: _column(n, make(options), parts) for n, make in chosen.items()}
    print(table(parts, columns))


def table(parts: Mapping[str, Sequence[Part]], columns: Mapping[str, Mapping[str, Tally]]) -> str:
    """A line a part, a column a suite: of faults first and alone, of sound pairs alarms."""
    lines = [f"| without | {' | '.join(columns)} |", f"|---|{'---|' * len(columns)}"]
    rows = ((name, *(_cell(column[name]) for column in columns.values())) for name in parts)
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def _cell(tally: Tally) -> str:
    said = [f"{tally.first}, {tally.alone} of {tally.faults}"] if tally.faults else []
    return "; ".join([*said, *([f"{tally.alarms} of {tally.controls}"] if tally.controls else [])])


def _column(
    suite: str, work: Iterator[Compared], parts: Mapping[str, Sequence[Part]]
) -> dict[str, Tally]:
    """The tally of a suite without each part; what changed is told while it runs."""
    listed, column = list(work), {}
    whole = outcome_without((), listed)
    every = [part for switched in parts.values() for part in switched]
    functions = [part for part in every if callable(part[2])]
    deciding = decide(functions, listed)
    for name, switched in parts.items():
        told = list(whole)
        asked = [n for n, own in enumerate(deciding) if any(map(partial(_decides, own), switched))]
        again = outcome_without(switched, [listed[n] for n in asked])
        for n, outcome in zip(asked, again, strict=True):
            told[n] = outcome
        column[name] = sum(told, Tally())
        other = [w.title for w, before, now in zip(listed, whole, told) if before != now]
        print(f"{suite}: without {name}: {_cell(column[name])}", *other, sep="; ", file=sys.stderr)
    return column


def _decides(deciding: set[Part], part: Part) -> bool:
    return not callable(part[2]) or part in deciding


def _kernels(o: argparse.Namespace, kind: Kind) -> Iterator[Compared]:
    models = o.architecture or tuple(ARCHITECTURES)
    return wrong_kernels(o.kept / "kernels", o.kernel_seed, o.every_kernel, models, kind)


def _layouts(o: argparse.Namespace, kind: Kind) -> Iterator[Compared]:
    kept = o.parallel or o.kept / "parallel"
    return parallel_layouts(kept, o.parallel_seed, o.every_layout, o.precision, kind)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m evaluation.ablation", description=__doc__)
    parser.add_argument("--kept", type=Path, help="keep recordings here and use them again")
    parser.add_argument("--only", default="", help="only suites whose name contains this text")
    parser.add_argument("--scores", action="store_true", help="the walk by scores, on its suites")
    parser.add_argument("--part", action="append", help="only this line of the table")
    parser.add_argument("--together", help="parts to switch off at once, by name, between '; '")
    parser.add_argument("--seed", type=int, default=0, help="of seeded bugs")
    parser.add_argument("--every", type=int, default=3, help="only each so-manieth seeded bug")
    parser.add_argument("--kernel-seed", type=int, default=1)
    parser.add_argument("--every-kernel", type=int, default=1)
    parser.add_argument("--architecture", action="append", help="of the kernels: only this model")
    parser.add_argument("--root", type=Path, default=Path("build/upstream"), help="of releases")
    parser.add_argument("--every-release", type=int, default=1)
    parser.add_argument("--parallel", type=Path, help="folder of kept parallel recordings")
    parser.add_argument("--parallel-seed", type=int, default=0)
    parser.add_argument("--every-layout", type=int, default=3)
    parser.add_argument("--precision", default="bfloat16", help="of parallel layouts")
    return parser.parse_args()


if __name__ == "__main__":
    main()
