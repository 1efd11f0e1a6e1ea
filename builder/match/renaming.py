"""Recognises how one run names the modules of another: a prefix, a wrapper, `layers.N` for `h.N`.

The paths of either side are a tree of segments. Children of equal names are one; what is left is
paired by the shapes of the parameters below, the classes, the names and the place. Each edge whose
name differs is one pattern, whatever the number of layers that it occurs in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import Path
from typing import TypeVar

from builder.match.layer_mapping import TOP, LayerMapping, Rule
from builder.match.tree import Tree, TreeNode

# Half of what a pair could show: equal shapes alone reach it, and no two of the other facts do.
ACCEPTED = 0.5
_Part = TypeVar("_Part")
_SHAPES, _CLASS, _NAME, _PLACE = 0.55, 0.15, 0.15, 0.15
_MOST_CHILDREN = 64  # that are compared with one another; a wider level is paired by its names


@dataclass(frozen=True, slots=True)
class NamedModule:
    """A module that a run called: its path, its class, the shapes of its own parameters."""

    path: str
    type_name: str
    shapes: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Pattern:
    """What is called `benchmark` below modules of class `owner` in the other run.

    `count` is how many modules find their partners by it. An `owner` of `TopLayer` is the model
    itself.
    """

    owner: str
    problem: str
    benchmark: str
    count: int


@dataclass(frozen=True, slots=True)
class Renaming:
    """The patterns, most modules first, and how many of `modules` have partners.

    `before` counts equal paths, `after` those and the renamed ones.
    """

    patterns: tuple[Pattern, ...]
    pairs: dict[str, str]
    modules: int
    before: int
    after: int

    def mapping(self) -> LayerMapping:
        """The patterns as rules, as a mapping file would have them."""
        rules = LayerMapping(Path("renamed modules"))
        for pattern in self.patterns:
            rules.add(Rule(pattern.owner, pattern.problem, pattern.benchmark, 0))
        return rules

    def text(self) -> str:
        """The YAML file that `-lm` takes."""
        lines: dict[str, list[str]] = {}
        for pattern in self.patterns:
            rule = f"  {_quoted(pattern.problem)}: {_quoted(pattern.benchmark)}"
            lines.setdefault(pattern.owner, []).append(rule)
        return "".join(f"{owner}:\n" + "\n".join(rules) + "\n" for owner, rules in lines.items())


def modules_of(tree: Tree) -> list[NamedModule]:
    """The modules of a tree that ran forward, each path once."""
    found: dict[str, NamedModule] = {}
    for node in sorted(tree.in_order, key=lambda each: each.began):
        entry = node.entry
        if node.kind == "module" and entry is not None and node.direction == "forward":
            module = NamedModule(entry.path, entry.type_name, _shapes(node, tree))
            found.setdefault(entry.path, module)
    return list(found.values())


def find_renaming(problem: Sequence[NamedModule], benchmark: Sequence[NamedModule]) -> Renaming:
    """The patterns by which the names of two runs differ; none where the names agree."""
    ours, theirs = _Branch.of(problem), _Branch.of(benchmark)
    pairs = {
        one.path: other.path
        for one, other in _paired(ours, theirs)
        if one.module is not None and other.module is not None
    }
    known = {module.path for module in benchmark}
    before = sum(module.path in known for module in problem)
    patterns = _patterns(pairs, {module.path: module for module in problem})
    return Renaming(patterns, pairs, len(problem), before, max(before, len(pairs)))


@dataclass(slots=True, eq=False)
class _Branch:
    """A segment of paths with all below it; `module` is None for what holds modules alone."""

    path: str
    name: str
    place: float = 0.0
    module: NamedModule | None = None
    children: dict[str, _Branch] = field(default_factory=dict)
    shapes: Counter[tuple[int, ...]] = field(default_factory=Counter)
    classes: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, modules: Sequence[NamedModule]) -> _Branch:
        root = cls("", "")
        for module in modules:
            branch = root
            branch._count(module)
            for name in module.path.split(".") if module.path else ():
                path = f"{branch.path}.{name}" if branch.path else name
                branch = branch.children.setdefault(name, cls(path, name))
                branch._count(module)
            branch.module = module
        root._place_children()
        return root

    def _count(self, module: NamedModule) -> None:
        self.shapes.update(module.shapes)
        self.classes[module.type_name] += 1

    def _place_children(self) -> None:
        for index, child in enumerate(self.children.values()):
            child.place = index / len(self.children)
            child._place_children()


def _paired(ours: _Branch, theirs: _Branch) -> Iterator[tuple[_Branch, _Branch]]:
    pending = [(ours, theirs)]
    while pending:
        one, other = pending.pop()
        inner = _unwrapped(one, other)
        if inner is not None:
            pending.append(inner)
            continue
        yield one, other
        shared = [name for name in one.children if name in other.children]
        pending += [(one.children[name], other.children[name]) for name in shared]
        left = [child for name, child in one.children.items() if name not in shared]
        right = [child for name, child in other.children.items() if name not in shared]
        pending += _alike(left, right)


def _unwrapped(one: _Branch, other: _Branch) -> tuple[_Branch, _Branch] | None:
    """The pair without the level that one side alone has: a child that is all of its parent."""
    shared = set(one.children) & set(other.children)
    if shared and min(len(one.children), len(other.children)) > 1:
        return None
    if not (one.shapes and other.shapes):
        return None
    for child in one.children.values():
        if child.children and _overlap(child.shapes, other.shapes) > _best(child, other):
            return child, other
    for child in other.children.values():
        if child.children and _overlap(child.shapes, one.shapes) > _best(child, one):
            return one, child
    return None


def _best(branch: _Branch, parent: _Branch) -> float:
    overlaps = (_overlap(branch.shapes, child.shapes) for child in parent.children.values())
    return max(ACCEPTED, *overlaps) if parent.children else ACCEPTED


def _alike(left: list[_Branch], right: list[_Branch]) -> list[tuple[_Branch, _Branch]]:
    if max(len(left), len(right), 1) > _MOST_CHILDREN:
        return []
    scored = sorted(
        (
            (_score(one, other), -i, -j)
            for i, one in enumerate(left)
            for j, other in enumerate(right)
        ),
        reverse=True,
    )
    pairs: list[tuple[_Branch, _Branch]] = []
    taken: tuple[set[int], set[int]] = (set(), set())
    for score, i, j in scored:
        if score >= ACCEPTED and i not in taken[0] and j not in taken[1]:
            taken[0].add(i)
            taken[1].add(j)
            pairs.append((left[-i], right[-j]))
    return pairs


def _score(one: _Branch, other: _Branch) -> float:
    if bool(one.shapes) != bool(other.shapes):
        return 0.0
    # Without parameters on either side (activations, dropout) the classes speak in their place.
    parts = (
        _overlap(one.shapes, other.shapes) if one.shapes else _overlap(one.classes, other.classes)
    )
    score = _SHAPES * parts
    score += _CLASS * _overlap(one.classes, other.classes)
    score += _NAME * SequenceMatcher(None, one.name, other.name).ratio()
    return score + _PLACE * (1.0 - abs(one.place - other.place))


def _overlap(one: Counter[_Part], other: Counter[_Part]) -> float:
    """How much of two collections is common to both, from 0 to 1."""
    union = (one | other).total()
    return (one & other).total() / union if union else 0.0


def _patterns(pairs: dict[str, str], modules: dict[str, NamedModule]) -> tuple[Pattern, ...]:
    """The least rules that lead from each path to its partner's, in a mapping file's terms."""
    owned: Counter[tuple[str, str, str]] = Counter()
    chosen: dict[str, tuple[str, str, str] | None] = {}
    for path in sorted(pairs, key=lambda each: each.count(".")):
        above = _nearest(path, pairs)
        base = pairs.get(above, "")
        short, other = _below(path, above), _below(pairs[path], base)
        owner = modules[above].type_name if above else TOP
        if other is None or short is None or short == other:
            chosen[path] = chosen.get(above)
        else:
            chosen[path] = (owner, *_without_common_end(short, other))
        if pairs[path] != path and chosen[path] is not None:
            owned[chosen[path]] += 1  # type: ignore[index]
    best: dict[tuple[str, str], Pattern] = {}
    for (owner, short, other), count in owned.most_common():
        best.setdefault((owner, short), Pattern(owner, short, other, count))
    return tuple(best.values())


def _nearest(path: str, pairs: dict[str, str]) -> str:
    """The nearest paired module above whose partner stands above the path's partner too."""
    above = path
    while above:
        above = above.rpartition(".")[0]
        if above in pairs and f"{pairs[path]}.".startswith(f"{pairs[above]}."):
            return above
    return ""


def _below(path: str, above: str) -> str | None:
    if not above:
        return path
    return path[len(above) + 1 :] if path.startswith(f"{above}.") else None


def _without_common_end(one: str, other: str) -> tuple[str, str]:
    """Without the numbers and names that both end with: `h.0` and `layers.0` as `h`, `layers`."""
    left, right = one.split("."), other.split(".")
    while len(left) > 1 and len(right) > 1 and left[-1] == right[-1]:
        left.pop()
        right.pop()
    return ".".join(left), ".".join(right)


def _shapes(node: TreeNode, tree: Tree) -> tuple[tuple[int, ...], ...]:
    values = tree.dump.values
    shapes = (
        values.records[index].shape
        for index in range(*node.values)
        if values.keys[index].startswith("parameters.")
    )
    return tuple(sorted(shape for shape in shapes if shape is not None))


def _quoted(path: str) -> str:
    return f'"{path}"' if path[:1].isdigit() else path
