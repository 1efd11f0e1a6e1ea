"""`python -m benchmarks.core_lines [COMMIT ...]`: how many lines answer where a difference begins.

Counted is every line of the files below, in a commit or, without one, in this tree; a file that a
commit does not have counts nothing there, so that rooms may move and be compared all the same.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# What knows calls, distances and edges, names beginnings, orders them, and leads the rest back.
PARTS: Mapping[str, tuple[str, ...]] = {
    "operators": ("builder/operators/*.py",),
    "evidence": (
        "builder/evidence/*.py",
        "builder/compare/forgiveness.py",
        "builder/compare/rounding.py",
    ),
    "flow": ("builder/flow/*.py",),
    "diagnosis": ("builder/diagnosis/*.py", "builder/finding_certainty.py"),
    "across steps and ranks": (
        *("builder/work/layout_findings.py", "builder/work/shared_causes.py"),
        *("builder/run/order.py", "builder/run/healed.py", "builder/run/rewritten.py"),
        "builder/run/reaches.py",
    ),
    "followers": (
        "builder/results/followers/*.py",
        *(f"builder/results/{name}.py" for name in ("equal_numbers", "carried_weights")),
        *(f"builder/results/{name}.py" for name in ("received", "handed_on")),
        *(
            f"tb_graph_ascend/view/diff/{name}.py"
            for name in (
                *("alike_calls", "back_steps", "carrying", "fed_links", "first_divergent"),
                *("incoming_differences", "led_back", "named_causes", "nearest_places", "reach"),
                *("returned_links", "run_inputs", "shares", "standing", "told_way", "twins"),
                *("value_readers", "way", "weight_links"),
            )
        ),
    ),
}
Read = Callable[[str], str]


def core_lines(files: Iterable[str], read: Read) -> dict[str, int]:
    """The lines of each part, of the files that there are."""
    listed = list(files)
    return {
        part: sum(
            read(file).count("\n")
            for file in listed
            if any(fnmatch(file, pattern) for pattern in patterns)
        )
        for part, patterns in PARTS.items()
    }


def of_commit(commit: str) -> dict[str, int]:
    """The lines in a commit. Raises CalledProcessError for one that is not there."""
    files = _git("ls-tree", "-r", "--name-only", commit).splitlines()
    return core_lines(files, lambda file: _git("show", f"{commit}:{file}"))


def of_this_tree() -> dict[str, int]:
    """The lines in the files as they are."""
    files = _git("ls-files").splitlines()
    there = (file for file in files if (ROOT / file).is_file())
    return core_lines(there, lambda file: (ROOT / file).read_text(encoding="utf-8"))


def main() -> int:
    """Print a table: a row a part, a column a commit, the last one of this tree."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.core_lines", description=__doc__)
    parser.add_argument("commits", nargs="*", metavar="COMMIT")
    commits = parser.parse_args().commits
    counts = [*map(of_commit, commits), of_this_tree()]
    print("| part |" + "".join(f" {commit} |" for commit in (*commits, "this tree")))
    print("|---|" + "---|" * len(counts))
    for part in PARTS:
        print(f"| {part} |" + "".join(f" {count[part]:,} |" for count in counts))
    print("| all |" + "".join(f" {sum(count.values()):,} |" for count in counts))
    return 0


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    sys.exit(main())
