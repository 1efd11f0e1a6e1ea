"""Cell mapping: YAML lines that rename modules of the problem, `fc1.Dense: fc1.Linear`.

A line that is a module's whole `<path>.<Class>` decides; otherwise every line replaces its first
occurrence in that text. The paths behind it pair with the benchmark's, whatever the classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from builder.errors import MappingError
from builder.match.layer_mapping import Rule
from builder.match.tree import Tree, TreeNode


@dataclass(slots=True)
class CellMapping:
    """The rules of one file."""

    path: Path
    rules: list[Rule] = field(default_factory=list)

    def translate(self, tree: Tree) -> dict[TreeNode, tuple[str, Rule | None]]:
        """The benchmark path of every module of the problem, with the rule behind it if any."""
        whole = {rule.problem: rule for rule in self.rules}
        return {
            node: self._translated(f"{node.entry.path}.{node.entry.type_name}", whole)
            for node in tree.in_order
            if node.kind == "module" and node.entry is not None
        }

    def _translated(self, name: str, whole: dict[str, Rule]) -> tuple[str, Rule | None]:
        applied = whole.get(name)
        if applied is not None:
            name = applied.benchmark
        else:
            for rule in self.rules:
                if rule.problem in name:
                    name, applied = name.replace(rule.problem, rule.benchmark, 1), rule
        if applied is not None:
            applied.used = True
        return name.rpartition(".")[0], applied

    def check(self, used: Sequence[bool], reached: Sequence[bool]) -> None:
        """Raise MappingError for the first rule that no module of any pair answered to."""
        for rule, is_used in zip(self.rules, used, strict=True):
            if not is_used:
                raise MappingError(
                    f"{self.path}:{rule.line}: {rule.problem} fits no module of the problem",
                    "correct or remove it",
                )
        if self.rules and not any(reached):
            raise MappingError(
                f"{self.path}: leads to no module of the benchmark",
                "write `<path>.<Class> there: <path>.<Class> here` the other way round?",
            )
