"""Recognises how one run names the modules of another: a prefix, a wrapper, `layers.N` for `h.N`.

The paths of either side are a tree of segments. Children of equal names are one; what is left is
paired by the shapes of the parameters below, the classes, the names and the place. Each edge whose
name differs is one pattern, whatever the number of layers that it occurs in. The matching takes the
patterns as rules of a mapping; the interface proposes the renamed modules to a person.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import Path
from typing import TypeVar

from builder.match.layer_mapping import TOP, LayerMapping, Rule
from builder.match.tree import Tree, TreeNode
from builder.reasons import PairingReason, SameClass, SameInside, SameParameters, SamePlace

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
class RenamedModule:
    """A module that the other run names otherwise below the nearest module around it.

    `below` are both names from that module on, `reasons` what speaks for the pair.
    """

    problem: str
    benchmark: str
    below: tuple[str, str]
    reasons: tuple[PairingReason, ...]


@dataclass(frozen=True, slots=True)
class Renaming:
    """The partners by paths, the modules where names part (outermost first), and their patterns.

    Of the patterns those of most modules stand first.
    """

    pairs: dict[str, str]
    renamed: tuple[RenamedModule, ...]
    patterns: tuple[Pattern, ...]

    def mapping(self) -> LayerMapping:
        """The patterns as rules, as a mapping file would have them."""
        rules = LayerMapping(Path("renamed modules"))
        for pattern in self.patterns:
            rules.add(Rule(pattern.owner, pattern.problem, pattern.benchmark, 0))
        return rules


def modules_of(tree: Tree) -> list[NamedModule]:
    """The modules of a tree that ran forward, each path once."""
    found: dict[str, NamedModule] = {}
    for node in sorted(tree.in_order, key=lambda each: each.began):
        entry = node.entry
        if node.kind == "module" and entry is not None and node.direction == "forward":
            module = NamedModule(entry.path, entry.type_name, _shapes(node, tree))
            found.setdefault(entry.path, module)
    return list(found.values())


def find_renaming(
    problem: Sequence[NamedModule],
    benchmark: Sequence[NamedModule],
    known: Mapping[str, str] | None = None,
) -> Renaming:
    """How the names of two runs differ; nothing is renamed where they agree.

    `known` are partners of other paths that were told already, by a mapping or by hand. They stand;
    what is inside them is looked at.
    """
    known = known or {}
    found = _found(problem, benchmark, known)
    pairs = {m.path: found[m.path][1].path for m in problem if m.path in found}
    renamed = tuple(
        RenamedModule(path, pairs[path], below, _reasons(*found[path]))
        for path, below in _partings(pairs, known)
    )
    return Renaming(pairs, renamed, _patterns(pairs, {m.path: m for m in problem}))


def _found(
    problem: Sequence[NamedModule], benchmark: Sequence[NamedModule], known: Mapping[str, str]
) -> dict[str, tuple[_Branch, _Branch]]:
    """The pairs by their path here, looked for among what is left until nothing more is found.

    What stands beside a wrapper that one side alone has is alike only once all inside has partners.
    """
    found: dict[str, tuple[_Branch, _Branch]] = {}
    told = dict(known)
    while True:
        more = {
            one.path: (one, other)
            for one, other in _paired(_Branch.of(problem), _Branch.of(benchmark), told)
            if one.module is not None and other.module is not None and one.path not in found
        }
        if not more:
            return found
        found |= more
        told |= {path: other.path for path, (_, other) in more.items()}
        taken = {other.path for _, other in found.values()}
        problem = [module for module in problem if module.path not in found]
        benchmark = [module for module in benchmark if module.path not in taken]


@dataclass(slots=True, eq=False)
class _Branch:
    """A segment of paths with all below it; `module` is None for what holds modules alone."""

    path: str
    name: str
    place: float = 0.0  # among its siblings, from 0 to 1
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

    def at(self, path: str) -> _Branch | None:
        """What lies at a path below this branch."""
        branch: _Branch | None = self
        for name in path.split(".") if path else ():
            branch = branch.children.get(name) if branch is not None else None
        return branch

    def with_only(self, children: dict[str, _Branch]) -> _Branch:
        """The branch as if it held some of its children alone, and were no module itself."""
        shapes = sum((child.shapes for child in children.values()), Counter[tuple[int, ...]]())
        classes = sum((child.classes for child in children.values()), Counter[str]())
        return _Branch(self.path, self.name, self.place, None, children, shapes, classes)

    def _count(self, module: NamedModule) -> None:
        self.shapes.update(module.shapes)
        self.classes[module.type_name] += 1

    def _place_children(self) -> None:
        for index, child in enumerate(self.children.values()):
            child.place = index / len(self.children)
            child._place_children()


def _paired(
    ours: _Branch, theirs: _Branch, known: Mapping[str, str]
) -> Iterator[tuple[_Branch, _Branch]]:
    taken = set(known.values())
    told = ((ours.at(path), theirs.at(other)) for path, other in known.items())
    pending = [(one, other) for one, other in told if one is not None and other is not None]
    pending.append((ours, theirs))
    while pending:
        one, other = pending.pop()
        inner = _unwrapped(one, other) if one.path not in known else None
        if inner is not None:
            pending.append(inner)
            continue
        yield one, other
        left = {name: child for name, child in one.children.items() if child.path not in known}
        right = {name: child for name, child in other.children.items() if child.path not in taken}
        shared = [name for name in left if name in right]
        pending += [(left.pop(name), right.pop(name)) for name in shared]
        # Beside what both name alike a wrapper shows only in what is left.
        inner = _unwrapped(one.with_only(left), other.with_only(right)) if shared else None
        pending += [inner] if inner else _alike(list(left.values()), list(right.values()))


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


def _reasons(one: _Branch, other: _Branch) -> tuple[PairingReason, ...]:
    """What speaks for a pair, each a fact that a person can check."""
    assert one.module is not None
    assert other.module is not None
    reasons: list[PairingReason] = []
    if one.shapes and one.shapes == other.shapes:
        reasons.append(SameParameters(one.shapes.total()))
    if one.module.type_name == other.module.type_name:
        reasons.append(SameClass(one.module.type_name))
    inside = one.classes.total() - 1
    if inside == other.classes.total() - 1 > 0:
        reasons.append(SameInside(inside))
    if one.place == other.place:
        reasons.append(SamePlace())
    return tuple(reasons)


def _partings(
    pairs: Mapping[str, str], known: Mapping[str, str]
) -> Iterator[tuple[str, tuple[str, str]]]:
    """The paths whose names below the nearest pair around them differ, outermost first.

    Right inside pairs that were told, equal names are given too: nobody said that they are paired.
    """
    for path in sorted(pairs, key=lambda each: each.count(".")):
        above, names = _below(path, pairs)
        if path not in known and (names[0] != names[1] or above in known):
            yield path, names


def _patterns(pairs: Mapping[str, str], modules: Mapping[str, NamedModule]) -> tuple[Pattern, ...]:
    """The least rules that lead from each path to its partner's, in a mapping file's terms."""
    owned: Counter[tuple[str, str, str]] = Counter()
    chosen: dict[str, tuple[str, str, str] | None] = {}
    for path in sorted(pairs, key=lambda each: each.count(".")):
        above, names = _below(path, pairs)
        owner = modules[above].type_name if above else TOP
        rule = chosen.get(above)
        if names[0] != names[1]:
            rule = (owner, *_without_common_end(*names))
        chosen[path] = rule
        if pairs[path] != path and rule is not None:
            owned[rule] += 1
    best: dict[tuple[str, str], Pattern] = {}
    for (owner, short, other), count in owned.most_common():
        best.setdefault((owner, short), Pattern(owner, short, other, count))
    return tuple(best.values())


def _below(path: str, pairs: Mapping[str, str]) -> tuple[str, tuple[str, str]]:
    """The nearest pair around a pair, by its path here, and both names from there on."""
    above = _nearest(path, pairs)
    if not above:
        return above, (path, pairs[path])
    return above, (path[len(above) + 1 :], pairs[path][len(pairs[above]) + 1 :])


def _nearest(path: str, pairs: Mapping[str, str]) -> str:
    """The nearest paired module above whose partner stands above the path's partner too."""
    above = path
    while above:
        above = above.rpartition(".")[0]
        if above in pairs and f"{pairs[path]}.".startswith(f"{pairs[above]}."):
            return above
    return ""


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
