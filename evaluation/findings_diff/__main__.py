"""`make findings-diff`: what an earlier commit and this tree say of every recorded pair.

Pairs are recorded once into `--kept`; what a commit said is kept there too. Exit code 1 when a
right answer is lost, a false one new, or a pair fails that did not.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from evaluation.findings_diff.differences import Answer, Difference, difference, judge, tally
from evaluation.findings_diff.pairs import (
    RecordedPair,
    of_msprobe,
    parallel_layouts,
    releases,
    seeded_bugs,
    wrong_kernels,
)

_ROOT = Path(__file__).resolve().parents[2]
_SAY = Path(__file__).with_name("say.py")
Suite = Callable[[argparse.Namespace], Iterator[RecordedPair]]
SUITES: dict[str, Suite] = {
    "zoo": lambda o: seeded_bugs(o.kept / f"z{o.seed}", "statistics", o.seed),
    "zoo-tensors": lambda o: seeded_bugs(o.kept / f"z{o.seed}", "tensor", o.seed),
    "msprobe": lambda o: of_msprobe(o.kept / f"z{o.seed}", o.seed),
    "kernels": lambda o: wrong_kernels(o.kept / f"k{o.seed}", o.seed),
    "releases": lambda o: releases(o.kept / "releases", o.root),
    "parallel": lambda o: parallel_layouts(o.kept / f"p{o.seed}", o.seed, "float32"),
    "parallel-bfloat16": lambda o: parallel_layouts(o.kept / f"p{o.seed}", o.seed, "bfloat16"),
}


def main() -> int:
    """Print each pair of which the two say something else, and the shares of both."""
    options = options_of(__doc__ or "")
    differences: list[Difference] = []
    for name in options.suite or SUITES:
        pairs = list(SUITES[name](options))
        old = answers(pairs, options, options.base)
        new = answers(pairs, options, None)
        found = [difference(p.title, old[p.title], new[p.title], p.faults) for p in pairs]
        differences += [one for one in found if one is not None]
        for one in filter(None, found):
            print(f"{one.kind.upper()}: {one.title}\n before:\n{one.before}\n now:\n{one.after}")
        print(f"{name}: {_shares(pairs, old)} before, {_shares(pairs, new)} now", flush=True)
    print(f"of all pairs that differ: {tally(differences)}")
    return int(any(one.kind in ("failed", "lost", "alarm") for one in differences))


def answers(
    pairs: Sequence[RecordedPair], options: argparse.Namespace, commit: str | None
) -> dict[str, Answer]:
    """What a commit says of each pair; without one, what this tree says."""
    if commit is None:
        with tempfile.TemporaryDirectory() as folder:
            return _answers(pairs, _ROOT, Path(folder) / "said.jsonl", options.processes)
    full = _git("rev-parse", commit)
    file = options.kept / f"said-{full}.jsonl"
    with tempfile.TemporaryDirectory() as folder:
        checkout = Path(folder) / "checkout"
        _git("worktree", "add", "--quiet", "--detach", str(checkout), full)
        try:
            return _answers(pairs, checkout, file, options.processes)
        finally:
            _git("worktree", "remove", "--force", str(checkout))


def _answers(
    pairs: Sequence[RecordedPair], checkout: Path, file: Path, processes: int
) -> dict[str, Answer]:
    """Ask a checkout for the pairs of which `file` has no answer yet."""
    known = _read(file)
    asked = [p for p in pairs if p.title not in known]
    if asked:
        wanted = file.with_suffix(".asked.json")
        sides = [
            {"title": p.title, "problem": str(p.problem), "benchmark": str(p.benchmark)}
            for p in asked
        ]
        wanted.write_text(json.dumps(sides))
        command = [sys.executable, str(_SAY), str(wanted), str(file), str(processes)]
        path = os.environ | {"PYTHONPATH": str(checkout), "OMP_NUM_THREADS": "1"}
        subprocess.run(command, env=path, check=True, cwd=checkout)
        wanted.unlink()
    return _read(file)


def _read(file: Path) -> dict[str, Answer]:
    lines = file.read_text().splitlines() if file.exists() else []
    return {answer["title"]: answer for answer in map(json.loads, lines)}


def _shares(pairs: Sequence[RecordedPair], said: dict[str, Answer]) -> str:
    faulty = [(judge(said[p.title], p.faults), len(p.faults)) for p in pairs if p.faults]
    sound = [judge(said[p.title], ()) for p in pairs if not p.faults]
    first = sum(judged.first for judged, _ in faulty)
    every = sum(judged.named == many for judged, many in faulty)
    alone = sum(judged.named == many and not judged.wrong for judged, many in faulty)
    silent = sum(not judged.wrong and not judged.failed for judged in sound)
    return (
        f"{first} first, {every} named whole, {alone} alone of {len(faulty)}, "
        f"{silent} of {len(sound)} sound silent"
    )


def _git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(_ROOT), *arguments], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def options_of(description: str, *, base: bool = True, every: bool = False) -> argparse.Namespace:
    """The options of a program over recorded pairs; with `base` the commit that it asks first.

    With `every` a share of the pairs can be asked for.
    """
    parser = argparse.ArgumentParser(
        prog="python -m evaluation.findings_diff", description=description
    )
    if base:
        parser.add_argument("base", help="the commit to hold this tree against")
    parser.add_argument("--kept", type=Path, default=Path("build/recorded-pairs"))
    parser.add_argument("--suite", action="append", choices=SUITES, help="only this suite")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--root", type=Path, default=Path("build/upstream"), help="of releases")
    parser.add_argument("--processes", type=int, default=2)
    if every:
        parser.add_argument("--every", type=int, default=1, metavar="N", help="one pair of N")
    options = parser.parse_args()
    options.kept = options.kept.resolve()
    options.kept.mkdir(parents=True, exist_ok=True)
    return options


if __name__ == "__main__":
    sys.exit(main())
