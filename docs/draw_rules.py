"""Draws docs/pictures/rules/*.svg: for each rule of the diagnosis a real run in which it answered.

usage: python -m docs.draw_rules [FOLDER]; the suite of seeded bugs is recorded below FOLDER, a
temporary one without it. The first case of the suite in which a rule answers is drawn.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from pathlib import Path

import torch

from builder.compare.comparison import compare
from builder.compare.score import Tolerance
from builder.diagnosis import rules, walk
from builder.diagnosis.facts import Facts
from builder.diagnosis.finding import Finding
from builder.dump.reader import read_dump
from builder.match.nodes import match_trees
from builder.match.tree import Tree, TreeNode, build_tree
from builder.reasons import sentence
from tests.zoo.suite import Case, cases, recorded

PICTURES = Path(__file__).parent / "pictures" / "rules"
_ROWS, _ROW, _WIDTH = 7, 22, 860
Answered = Callable[[str, rules.Case, Finding], None]


@dataclass(frozen=True, slots=True)
class Example:
    """Where a rule answered: the case, the node, the finding it gave."""

    case: Case
    facts: Facts
    node: TreeNode
    finding: Finding


def main() -> None:
    """Draw every rule that some case of the suite shows."""
    wanted = {rule.__name__ for rule in (*rules.RULES_FOR_INPUTS, *rules.RULES_FOR_OUTPUTS)}
    PICTURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(folder)
        for case in cases(("statistics",)):
            if case.fault is None or case.problem.dtype != torch.float32:
                continue
            for name, example in examples(case, root).items():
                if name in wanted and (name != "reads_moved_elements" or case.kind == "order"):
                    wanted.discard(name)
                    (PICTURES / f"{name}.svg").write_text(drawn(name, example), encoding="utf-8")
                    print(f"{name}: {case.architecture}, {case.name}", flush=True)
            if not wanted:
                return
    print(f"no case for {', '.join(sorted(wanted))}")


def examples(case: Case, root: Path) -> dict[str, Example]:
    """The first answer of each rule in either step of a case."""
    found: dict[str, Example] = {}
    sides = recorded(case, root)
    for step in (0, 1):
        trees = [tree_of(side / f"step{step}") for side in sides]
        comparison = compare(match_trees(*trees), Tolerance())

        def note(name: str, asked: rules.Case, finding: Finding) -> None:
            found.setdefault(name, Example(case, asked.facts, asked.node, finding))

        with_names(note)
        walk.walk(comparison)
    return found


def tree_of(step: Path) -> Tree:
    """The one rank below a step."""
    (folder,) = step.iterdir()
    return build_tree(read_dump(folder))


def with_names(note: Answered) -> None:
    """Let the walk tell which rule answered."""

    def told(rule: rules.Rule) -> rules.Rule:
        def asked(case: rules.Case) -> Finding | None:
            finding = rule(case)
            if finding is not None:
                note(rule.__name__, case, finding)
            return finding

        return asked

    walk.RULES_FOR_INPUTS = tuple(map(told, rules.RULES_FOR_INPUTS))
    walk.RULES_FOR_OUTPUTS = tuple(map(told, rules.RULES_FOR_OUTPUTS))


def drawn(rule: str, example: Example) -> str:
    """The calls up to the node that was asked about, with their scores, and the finding."""
    rows = rows_of(example)
    said = "; ".join(map(sentence, example.finding.reasons))
    height = _ROW * (len(rows) + 4)
    case = example.case
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
        f'role="img" aria-label="{escape(rule)}" font-family="monospace" font-size="12">',
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
        text(8, 1, f"{case.architecture}: {case.name}", "#555"),
        *(text(x, 1, title, "#555") for x, title in ((620, "inputs"), (700, "outputs"))),
    ]
    for number, node in enumerate(rows, 2):
        lines += row_of(example, node, number)
    end = len(rows) + 2
    lines.append(text(8, end, f"finding: {example.finding.node.name}", "#a11"))
    lines.append(text(8, end + 1, said[:116], "#a11"))
    return "\n".join([*lines, "</svg>"]) + "\n"


def rows_of(example: Example) -> list[TreeNode]:
    """The finding, then the last nodes up to the one that was asked about."""
    in_order = example.facts.comparison.matching.problem.in_order
    at = example.node.exec_order
    near = in_order[max(0, at - _ROWS + 1) : at + 1]
    first = example.finding.node
    return near if first in near or example.finding.side == "benchmark" else [first, *near]


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
