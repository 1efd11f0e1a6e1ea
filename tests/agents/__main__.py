"""`make mcp-judge`: a fixed policy finds seeded bugs by the tools of `msprobe mcp` alone.

Twenty pairs, taken evenly from all seeded bugs of the zoo. Exit code 1 below eighteen.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from evaluation.zoo.culprit import right_answers
from evaluation.zoo.suite import Case, cases, recorded
from tests.agents.policy import Suspicion, investigate
from tests.agents.tool_user import ToolUser, connected

PAIRS = 20
LEAST = 18


def main() -> int:
    """Print each pair, how many were found, and how large the answers were."""
    parser = argparse.ArgumentParser(prog="python -m tests.agents", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="other weights and other data")
    parser.add_argument("--kept", type=Path, help="keep recordings here and use them again")
    options = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        root = (options.kept or Path(folder)).resolve()
        results = root / "results"
        results.mkdir(parents=True, exist_ok=True)
        with connected(root, "--build-into", results) as user:
            found = list(_judged(user, root, drawn(options.seed)))
            print(f"\nfound: {sum(found)} of {len(found)}, in {time.monotonic() - began:.0f} s")
            print(_sizes(user.sizes))
    return int(sum(found) < LEAST)


def drawn(seed: int) -> list[Case]:
    """Pairs at even distances in the list of all seeded bugs, so that nobody picks them."""
    faulty = [case for case in cases(["statistics"], seed) if case.fault is not None]
    return [faulty[n * len(faulty) // PAIRS] for n in range(PAIRS)]


def _judged(user: ToolUser, root: Path, listed: Sequence[Case]) -> Iterator[bool]:
    for case in listed:
        problem, benchmark = recorded(case, root)
        names = [path.relative_to(root).as_posix() for path in (problem, benchmark)]
        made = user.ask("build_result", problem=names[0], benchmark=names[1])
        said = investigate(user, made["result"])
        if said is not None:
            _look_around(user, made["result"], said)
        assert case.fault is not None
        right = right_answers(case.fault.culprits, problem, benchmark)
        is_found = said is not None and (said.step, said.node) in right and said.line is not None
        verdict = "found " if is_found else "MISSED"
        print(f"{verdict} {case.architecture:12} {case.name}: {_told(said)}")
        sys.stdout.flush()
        yield is_found


def _look_around(user: ToolUser, result: str, said: Suspicion) -> None:
    """Ask what else an agent asks, so that the sizes of these answers are known as well."""
    for tool in ("node_values", "node_neighbours"):
        user.ask(tool, result=result, node=said.node, step=said.step)
    user.call("record_next", result=result)  # refused where no call could take other values


def _told(said: Suspicion | None) -> str:
    if said is None:
        return "no beginning named"
    return f"step {said.step}, {said.node}, {said.line or 'no line'}"


def _sizes(sizes: Mapping[str, Sequence[int]]) -> str:
    lines = ["| tool | answers | median bytes | most |", "|---|---|---|---|"]
    for tool, found in sizes.items():
        middle = statistics.median(found)
        lines.append(f"| `{tool}` | {len(found)} | {middle:,.0f} | {max(found):,} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
