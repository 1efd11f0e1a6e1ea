"""Layer mapping: YAML rules that translate module paths of the problem into the benchmark's.

`<Class>: {<path below it>: <path on the benchmark side>}`; `TopLayer` holds the children of the
root. Paths may have several segments, and the longest rule that fits wins.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from builder.errors import MappingError
from builder.match.tree import Tree, TreeNode

TOP = "TopLayer"


@dataclass(slots=True, eq=False)
class Rule:
    """One line of a mapping file."""

    owner: str
    problem: str
    benchmark: str
    line: int
    used: bool = False
    reached: bool = False


@dataclass(slots=True)
class LayerMapping:
    """The rules of one file."""

    path: Path
    rules: list[Rule] = field(default_factory=list)
    _by_owner: dict[str, dict[tuple[str, ...], Rule]] = field(default_factory=dict)

    def add(self, rule: Rule) -> None:
        """Add a rule; a later one for the same place is a mistake."""
        known = self._by_owner.setdefault(rule.owner, {})
        key = tuple(rule.problem.split("."))
        if key in known:
            raise MappingError(
                f"{self.path}:{rule.line}: {rule.owner} maps {rule.problem!r} a second time "
                f"(first in line {known[key].line})",
                "keep one",
            )
        known[key] = rule
        self.rules.append(rule)

    def translate(self, tree: Tree) -> dict[TreeNode, tuple[str, Rule | None]]:
        """The benchmark path of every module of the problem, with the rule behind it if any."""
        translated: dict[TreeNode, tuple[str, Rule | None]] = {}
        for node in _modules(tree.root):
            translated[node] = self._translate(node, translated)
        return translated

    def _translate(
        self, node: TreeNode, translated: dict[TreeNode, tuple[str, Rule | None]]
    ) -> tuple[str, Rule | None]:
        best: tuple[int, int, TreeNode | None, Rule] | None = None
        segments = _path(node)
        nearest = len(_path(_module_above(node)))
        above = _module_above(node)
        while True:
            start = len(_path(above))
            for length in range(len(segments) - start, nearest - start, -1):
                rule = self._by_owner.get(_class(above), {}).get(segments[start : start + length])
                if rule is not None and (best is None or length > best[0]):
                    best = (length, start, above, rule)
            if above is None:
                break
            above = _module_above(above)
        if best is None:
            base, inherited = _base(_module_above(node), translated)
            return _joined(base, segments[nearest:]), inherited
        length, start, owner, rule = best
        rule.used = True
        base, _ = _base(owner, translated)
        return _joined(base, (*rule.benchmark.split("."), *segments[start + length :])), rule

    def check(self, used: Sequence[bool], reached: Sequence[bool]) -> None:
        """Raise MappingError for the first rule that no module of any pair answered to.

        The flags stand in the order of the rules: a rule may serve on one rank and not on others.
        """
        for rule, is_used, is_reached in zip(self.rules, used, reached, strict=True):
            place = f"{self.path}:{rule.line}: rule {rule.owner}: {rule.problem}"
            if not is_used:
                raise MappingError(f"{place} fits no module of the problem", "correct or remove it")
            if not is_reached:
                raise MappingError(
                    f"{place} leads to {rule.benchmark!r}, which the benchmark does not have",
                    "correct or remove it",
                )


def _modules(root: TreeNode) -> Iterator[TreeNode]:
    pending = [root]
    while pending:
        node = pending.pop()
        if node.kind == "module" and node.entry is not None:
            yield node
        pending.extend(reversed(node.children))


def _module_above(node: TreeNode | None) -> TreeNode | None:
    above = node.parent if node is not None else None
    # Only a module whose path is a prefix can own a rule; a shared module may be called anywhere.
    while above is not None and (
        above.kind != "module"
        or above.entry is None
        or node is None
        or node.entry is None
        or not node.entry.path.startswith(above.entry.path + ".")
    ):
        above = above.parent
    return above


def _path(node: TreeNode | None) -> tuple[str, ...]:
    return tuple(node.entry.path.split(".")) if node is not None and node.entry is not None else ()


def _class(node: TreeNode | None) -> str:
    return node.entry.type_name if node is not None and node.entry is not None else TOP


def _base(
    node: TreeNode | None, translated: dict[TreeNode, tuple[str, Rule | None]]
) -> tuple[str, Rule | None]:
    return translated.get(node, ("", None)) if node is not None else ("", None)


def _joined(base: str, segments: tuple[str, ...]) -> str:
    return ".".join(([base] if base else []) + list(segments))
