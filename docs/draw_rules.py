"""Draws docs/pictures/rules/*.svg: for each rule of the diagnosis a real run in which it answered.

usage: python -m docs.draw_rules [--folder FOLDER] [RULE …]; the suite of seeded bugs is recorded
below FOLDER, a temporary one without it. The first case of the suite in which a rule answers
rightly is drawn: as `make zoo` records it, else without sketches, else that in bfloat16 on the
same kernels.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from textwrap import wrap

import torch

from builder.compare.comparison import compare
from builder.compare.score import THRESHOLD, Tolerance
from builder.diagnosis.blame import walk_by_scores
from builder.diagnosis.facts import Facts
from builder.diagnosis.finding import Finding
from builder.diagnosis.policies.by_scores import score_policy as by_scores
from builder.diagnosis.policies.by_scores import score_rules
from builder.diagnosis.policies.by_scores.score_rules import Case as AskedCase
from builder.diagnosis.verdicts import Cause
from builder.dump.reader import read_dump
from builder.match.nodes import match_trees
from builder.match.tree import Tree, TreeNode, build_tree
from builder.reasons import sentence
from evaluation.zoo.culprit import right_answers
from evaluation.zoo.suite import Case, cases, recorded

PICTURES = Path(__file__).parent / "pictures" / "rules"
_ROWS, _ROW, _WIDTH = 7, 22, 860
_LETTERS = 112  # that fit into a line
# The suite as it is recorded, and what its cases are changed to for rules that it never asks.
SETTINGS: dict[str, Callable[[Case], Case]] = {
    "": lambda case: case,
    ", without sketches": lambda case: both(case, sketch=False),
    ", bfloat16 without sketches on the same kernels": lambda case: both(
        case, sketch=False, onednn=True
    ),
}
DTYPES = {
    "": torch.float32,
    ", without sketches": torch.float32,
    ", bfloat16 without sketches on the same kernels": torch.bfloat16,
}
Answered = Callable[[str, AskedCase, Cause], None]


@dataclass(frozen=True, slots=True)
class Example:
    """Where a rule answered: the node and the finding it gave."""

    facts: Facts
    node: TreeNode
    finding: Cause


def main() -> None:
    """Draw every rule that some case of the suite shows."""
    every = [
        rule.__name__ for rule in (*score_rules.RULES_FOR_INPUTS, *score_rules.RULES_FOR_OUTPUTS)
    ]
    parser = argparse.ArgumentParser(prog="python -m docs.draw_rules", description=__doc__)
    parser.add_argument("rules", nargs="*", metavar="RULE", help="only these")
    parser.add_argument("--folder", type=Path, help="keep recordings here and use them again")
    options = parser.parse_args()
    PICTURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        missing = draw(set(options.rules or every), options.folder or Path(folder))
    if missing:
        print(f"no case for {', '.join(sorted(missing))}")


def draw(wanted: set[str], root: Path) -> set[str]:
    """Draw rules; returns those that no case shows."""
    for folder, change in SETTINGS.items():
        for case in map(change, cases(("statistics",))):
            if case.fault is None or case.problem.dtype != DTYPES[folder] or not wanted:
                continue
            for name, example in examples(case, root / folder).items():
                if name in wanted and (name != "reads_moved_elements" or case.kind == "order"):
                    wanted.discard(name)
                    run = f"{case.architecture}: {case.name}{folder}"
                    picture = drawn(name, example, run)
                    (PICTURES / f"{name}.svg").write_text(picture, encoding="utf-8")
                    print(f"{name}: {run}", flush=True)
    return wanted


def both(case: Case, **changes: bool) -> Case:
    """A case with both of its sides recorded otherwise."""
    problem, benchmark = (replace(side, **changes) for side in (case.problem, case.benchmark))
    return replace(case, problem=problem, benchmark=benchmark)


def examples(case: Case, root: Path) -> dict[str, Example]:
    """The first answer of each rule in either step of a case, wrong ones left out."""
    found: dict[str, Example] = {}
    sides = recorded(case, root)
    right = right_answers(case.fault.culprits, *sides) if case.fault is not None else set()
    faulty = {culprit.step for culprit in case.fault.culprits} if case.fault is not None else set()
    for step in (0, 1):
        trees = [tree_of(side / f"step{step}") for side in sides]
        comparison = compare(match_trees(*trees), Tolerance())

        def note(name: str, asked: AskedCase, finding: Cause, step: int = step) -> None:
            # What a later step inherits is right as well, and no culprit.
            if step not in faulty or (step, finding.node.name) in right:
                found.setdefault(name, Example(asked.facts, asked.node, finding))

        with_names(note)
        walk_by_scores(comparison, THRESHOLD)
    return found


def tree_of(step: Path) -> Tree:
    """The one rank below a step."""
    (folder,) = step.iterdir()
    return build_tree(read_dump(folder))


def with_names(note: Answered) -> None:
    """Let the walk tell which rule answered."""

    def told(rule: score_rules.Rule) -> score_rules.Rule:
        def asked(case: AskedCase) -> Cause | None:
            finding = rule(case)
            if finding is not None:
                note(rule.__name__, case, finding)
            return finding

        return asked

    by_scores.RULES_FOR_INPUTS = tuple(map(told, score_rules.RULES_FOR_INPUTS))
    by_scores.RULES_FOR_OUTPUTS = tuple(map(told, score_rules.RULES_FOR_OUTPUTS))


def drawn(rule: str, example: Example, run: str) -> str:
    """The calls up to the node that was asked about, with their scores, and the finding."""
    rows = rows_of(example)
    cause = example.finding
    reasons = cause.reasons if isinstance(cause, Finding) else [cause.reason, *cause.more]
    said = wrap("; ".join(map(sentence, reasons)), _LETTERS)
    height = _ROW * (len(rows) + 3 + len(said))
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
        f'role="img" aria-label="{escape(rule)}" font-family="monospace" font-size="12">',
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
        text(8, 1, run, "#555"),
        *(text(x, 1, title, "#555") for x, title in ((620, "inputs"), (700, "outputs"))),
    ]
    for number, node in enumerate(rows, 2):
        lines += (
            row_of(example, node, number) if node is not None else [text(8, number, "⋮", "#555")]
        )
    end = len(rows) + 2
    lines.append(text(8, end, f"finding: {example.finding.node.name}", "#a11"))
    lines += [text(8, row, line, "#a11") for row, line in enumerate(said, end + 1)]
    return "\n".join([*lines, "</svg>"]) + "\n"


def rows_of(example: Example) -> list[TreeNode | None]:
    """The finding, then the last nodes up to the one that was asked about; None for a gap."""
    in_order = example.facts.comparison.matching.problem.in_order
    at = example.node.exec_order
    near = in_order[max(0, at - _ROWS + 1) : at + 1]
    first = example.finding.node
    if first in near or first not in in_order:
        return [*near]
    return [first, *near] if first.exec_order + 1 == near[0].exec_order else [first, None, *near]


def row_of(example: Example, node: TreeNode, number: int) -> list[str]:
    """A node with its scores."""
    score, before = example.facts.scores(node)
    weight = "bold" if node is example.node else "normal"
    colour = "#a11" if node is example.finding.node else "#111"
    lines = [text(8, number, node.name[:80], colour, weight)]
    for x, value in ((620, before), (700, score)):
        if value is not None:
            top = (number - 1) * _ROW + 5
            lines.append(
                f'<rect x="{x}" y="{top}" width="56" height="{_ROW - 4}" rx="3" '
                f'fill="hsl(6 75% {97 - 55 * value:.0f}%)"/>'
            )
            lines.append(text(x + 10, number, f"{value:.2f}", "#fff" if value > 0.6 else "#111"))
    if node is example.node:
        lines.append(text(776, number, "← asked", "#555"))
    return lines


def text(x: int, row: int, content: str, colour: str, weight: str = "normal") -> str:
    """A piece of text in a row."""
    return (
        f'<text x="{x}" y="{row * _ROW - 4}" fill="{colour}" font-weight="{weight}">'
        f"{escape(content)}</text>"
    )


if __name__ == "__main__":
    main()
