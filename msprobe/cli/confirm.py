"""`msprobe confirm`: prove a finding by giving the problem run the benchmark's values there."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from msprobe.cli.outcome import Exit
from msprobe.errors import CommandError

if TYPE_CHECKING:
    from builder.results.proof import Proof

SUMMARY = "prove a finding: the problem run takes the benchmark's values at that call"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    parser.add_argument(
        "database", type=Path, metavar="DB", help="a *.vis.db of graph_visualize, or its folder"
    )
    parser.add_argument(
        "--finding", type=int, default=1, metavar="N", help="which of the findings [1, the first]"
    )
    parser.add_argument(
        "-o", "--output_path", type=Path, metavar="DIR", help="folder for the configurations"
    )
    parser.add_argument(
        "--after", type=Path, metavar="DB", help="the comparison with the grafted run: the answer"
    )


def run(options: argparse.Namespace) -> Exit:
    """Write the configurations, or say what the second comparison proves."""
    from builder.results.newest import result_file

    options.database = result_file(options.database)
    if options.after is not None:
        from builder.results.proof import prove

        proof = prove(options.database, result_file(options.after), options.finding)
        print("\n".join(_said(proof)))
        return Exit.DONE if proof.is_proven else Exit.DIVERGED
    if options.output_path is None:
        raise CommandError("confirm writes configurations", "give a folder with -o, or --after DB")
    return _write(options.database, options.finding, options.output_path)


def _write(database: Path, number: int, folder: Path) -> Exit:
    from builder.results.confirmation import plan_confirmation

    plan = plan_confirmation(database, number, folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in plan.files.items():
        (folder / name).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    print(f"finding {number}: {plan.node} (step {plan.step}, rank {plan.rank})")
    print(f"1. run the benchmark with {folder / 'closer_benchmark.json'}")
    print(f"2. run the problem with {folder / 'graft.json'}")
    after, grafted = folder / "after", folder / "grafted"
    print(f"3. msprobe graph_visualize -tp {grafted} -gp BENCHMARK -o {after}")
    print(f"4. msprobe confirm {database} --finding {number} --after {after}")
    print(f"to look closer: run the problem with {folder / 'closer_problem.json'} as well")
    return Exit.DONE


def _said(proof: Proof) -> list[str]:
    if not proof.behind:
        return [f"{proof.node}: nothing behind it differed, so nothing can prove it"]
    agree = f"of {proof.behind} nodes behind it {proof.agree} agree now"
    if proof.is_proven:
        return [f"proven: {agree}"]
    lines = [f"not all of it: {agree}, {proof.remain} differ in the second comparison"]
    if proof.next_finding is not None:
        lines.append(f"what remains begins at {proof.next_finding}")
    return lines
