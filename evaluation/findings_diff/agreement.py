"""`make agreement`: whether page, command, JSON, report and slides say the same of every pair.

Each pair is built, every outlet is asked, and `tests/e2e/agreement.ts` holds the answers against
each other, some pairs at a time. Exit code 1 when two outlets say different things of a pair.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from builder import BuildOptions, build
from builder.errors import BuilderError
from evaluation.findings_diff.__main__ import SUITES, options_of
from evaluation.findings_diff.pairs import RecordedPair
from tests.builder.results.followers.agreement import contradictions
from tests.e2e.outlets import write_outlets

_ROOT = Path(__file__).resolve().parents[2]
_AT_ONCE = 24  # pairs whose pages, a megabyte each, lie on the disk at a time
_COMPARE = ("npx", "vitest", "run", "--root", "tests/e2e", "--config", "vitest.agreement.config.ts")
Wanted = tuple[str, Path, Path, Path]
"""Title, problem and benchmark of a pair, and the folder for what is said of it."""


def main() -> int:
    """Print what contradicts itself, and how many pairs were asked."""
    options = options_of(__doc__ or "", base=False, every=True)
    asked = wrong = 0
    for name in options.suite or SUITES:
        pairs = islice(SUITES[name](options), 0, None, options.every)
        while some := list(islice(pairs, _AT_ONCE)):
            said = list(_contradicted(some, options.processes))
            print("\n".join(said), end="\n" if said else "", flush=True)
            asked, wrong = asked + len(some), wrong + len(said)
        print(f"{name}: {asked} pairs so far, {wrong} contradictions", flush=True)
    return int(wrong > 0)


def _contradicted(pairs: Sequence[RecordedPair], processes: int) -> Iterator[str]:
    """What two outlets say differently of some pairs."""
    with tempfile.TemporaryDirectory() as folder:
        wanted = [
            (pair.title, pair.problem, pair.benchmark, Path(folder, "pairs", str(number)))
            for number, pair in enumerate(pairs)
        ]
        with multiprocessing.Pool(processes) as pool:
            for said in pool.imap(_asked, wanted):
                yield from said
        yield from _compared(Path(folder, "pairs"))


def _asked(wanted: Wanted) -> list[str]:
    """Build a pair and ask every outlet; what the query layer itself says in two ways."""
    title, problem, benchmark, place = wanted
    with tempfile.TemporaryDirectory() as folder:
        try:
            result = build(problem, benchmark, Path(folder, "out"), BuildOptions(workers=1)).path
        except BuilderError:
            return []  # what cannot be compared has no answer that could differ
        place.mkdir(parents=True)
        (place / "title.txt").write_text(title, "utf-8")
        write_outlets(result, place)
        return [f"{title}: {said}" for said in contradictions(result)]


def _compared(folder: Path) -> Iterator[str]:
    """The failures of the comparison of what lies below a folder, a line each."""
    if not folder.exists():
        return
    done = subprocess.run(
        [*_COMPARE, "--reporter=tap-flat"],
        check=False,
        env=os.environ | {"AGREEMENT": str(folder)},
        cwd=_ROOT,
        capture_output=True,
        text=True,
    )
    lines = done.stdout.splitlines()
    failed = [line for line in lines if line.startswith("not ok")]
    if done.returncode and not failed:
        raise RuntimeError(f"the comparison did not run: {done.stderr or done.stdout}")
    for line in failed:
        at = lines.index(line)
        yield "\n".join([line.split(" - ", 1)[-1], *lines[at + 1 : at + _TOLD]])


_TOLD = 14  # lines of a failure that say what was expected

if __name__ == "__main__":
    sys.exit(main())
