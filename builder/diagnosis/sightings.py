"""Where a fault that a walk has named shows elsewhere: in other layers, parameters, ranks, steps.

A walk names a cause where a difference begins. The same fault in another layer is often reached
from there already, and so is no finding: here is what every node shows of one, whoever names it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator

from builder.diagnosis.change_kinds import (
    OTHER_DATA,
    Kinds,
    Side,
    Sighting,
    changes_of_reason,
    type_of,
)
from builder.diagnosis.changes import Changes, scope_of
from builder.diagnosis.excess import PLAIN, Excess
from builder.diagnosis.facts import Facts
from builder.diagnosis.passed_calls import PassedCalls
from builder.flow.fingerprints import Fingerprints, fingerprint
from builder.match.tree import Tree, TreeNode

Prints = tuple[Fingerprints, Fingerprints]
MakerOf = Callable[[int], TreeNode | None]


class Sightings:
    """Collects what the nodes of one comparison show.

    `note` is told how far apart values are read from what their makers explain; what one run alone
    calls, or calls otherwise, is looked up at the end.
    """

    def __init__(self, facts: Facts, changes: Changes, passed: PassedCalls) -> None:
        self._facts, self._changes, self._passed = facts, changes, passed
        self._matching = facts.comparison.matching
        self._kind = Kinds(self._matching.problem)
        self._read: list[tuple[TreeNode, Excess]] = []

    def note(self, node: TreeNode, excesses: Iterable[Excess]) -> None:
        """Remember what of a node's inputs no call of both runs has made, or was moved since."""
        if node.stack is None:
            return
        for excess in excesses:
            unmade = excess.way in ("outside", "rewired") and excess.times > 0
            if unmade or excess.times > PLAIN:
                self._read.append((node, excess))

    def listed(self, prints: Prints, maker_of: MakerOf) -> tuple[Sighting, ...]:
        """All sightings, in the order of execution on each side.

        `maker_of` tells the problem's call that put out the problem's value of a row.
        """
        own = [*self._changed(maker_of), *self._read_otherwise()]
        own += self._alone(self._matching.problem, "problem", prints[0])
        theirs = self._alone(self._matching.benchmark, "benchmark", prints[1])
        own.sort(key=lambda sighting: sighting.node.exec_order)
        return (*own, *theirs)

    # --- what one run alone calls -----------------------------------------------------------------

    def _alone(self, tree: Tree, side: Side, prints: Fingerprints) -> list[Sighting]:
        """Of calls of one kind of which each reads the one before the last: they are one change."""
        kind_at, change = Kinds(tree), ("extra" if side == "problem" else "missing",)
        found: list[Sighting] = []
        latest: dict[str, int] = {}  # since the last call of both runs, by kind: place in `found`
        for node in tree.in_order:
            if node in self._matching.partner:
                latest.clear()
            elif self._changes.is_change(node) and not _changes_nothing(tree, node, prints):
                named = self._changes.outermost(node)
                kind = kind_at(named, change)
                if kind is None:
                    continue
                at = latest.get(kind)
                if at is not None and _goes_on(tree, found[at].node, named, prints):
                    found[at] = Sighting(named, side, found[at].kinds)
                else:
                    latest[kind] = len(found)
                    goes_back = named.direction == "backward"  # where its call goes forward
                    line = None if goes_back else kind_at.of_line(named)
                    kinds = (kind,) if line is None else (kind, line)
                    found.append(Sighting(named, side, kinds))
        return found

    # --- what one run calls otherwise -------------------------------------------------------------

    def _changed(self, maker_of: MakerOf) -> Iterator[Sighting]:
        facts, changes = self._facts, self._changes
        for node in self._matching.problem.in_order:
            if node.stack is None or node not in self._matching.partner:
                continue
            keys = facts.comparison.keys
            given = (*changes.arguments(node), *changes.given_by_one_run(node))
            told: list[tuple[Hashable, ...]]
            told = [("argument", keys[row]) for row in dict.fromkeys(given)]
            if changes.differs(node):
                told += self._of_formats(node, maker_of)
                told += self._of_gradients(node, maker_of)
            if self._passed.are_told and node.values[0] == node.values[1]:
                given_otherwise = self._passed.difference(node)
                told += changes_of_reason(given_otherwise) if given_otherwise else ()
            if facts.makes_nonfinite(node):
                told.append(("non_finite",))
            kinds = self._kind.all_of(node, told)
            if kinds:
                yield Sighting(node, "problem", kinds)

    def _of_formats(self, node: TreeNode, maker_of: MakerOf) -> Iterator[tuple[Hashable, ...]]:
        """Another format, unless it is that of what another call put out."""
        facts = self._facts
        if facts.changes_precision(node) and not facts.reads_precision(node, maker_of):
            reason = facts.precision_reason(node)
            yield ("precision", reason.problem, reason.benchmark)

    def _of_gradients(self, node: TreeNode, maker_of: MakerOf) -> Iterator[tuple[Hashable, ...]]:
        """A value of which one run alone wants a gradient, unless a call before it made it so."""
        if node.kind != "api" or not (rows := self._changes.requires_grad(node)):
            return
        is_output = self._facts.comparison.is_output
        makers = (maker_of(row) for row in rows if not is_output[row])
        if not any(maker is not None and self._changes.requires_grad(maker) for maker in makers):
            yield ("requires_grad", self._facts.comparison.keys[rows[0]])

    # --- what is read otherwise -------------------------------------------------------------------

    def _read_otherwise(self) -> Iterator[Sighting]:
        """Of each turn of a loop, too: what it reads may be equal in numbers, and another value."""
        for node, excess in self._read:
            kinds = self._kind.all_of(node, self._changes_of_read(excess))
            if self._is_data(node, excess):
                kinds = (*kinds, OTHER_DATA)
            if kinds:
                yield Sighting(node, "problem", kinds)

    def _is_data(self, node: TreeNode, excess: Excess) -> bool:
        """Whether an outermost module is fed what diverges, and no call of torch made."""
        is_read = node.kind == "module" and scope_of(node) is None and excess.way == "outside"
        diverges = is_read and bool(self._facts.is_divergent[excess.row])
        return diverges and self._passed.is_outside_data(excess.row)

    def _changes_of_read(self, excess: Excess) -> Iterator[tuple[Hashable, ...]]:
        facts, makers = self._facts, excess.makers
        value, ours = facts.comparison.keys[excess.row], makers.ours if makers else None
        theirs = makers.theirs if makers else None
        if excess.way == "outside":
            print_ = fingerprint(facts.paired.ours[excess.row])
            if print_ is not None:
                yield ("outside", value, print_)
            # How far apart a value may be that nobody made is a guess, of which the same value
            # read elsewhere needs none, nor does what diverges by its score.
            if excess.times > PLAIN or facts.is_divergent[excess.row]:
                yield from (("outside", value), ("read", value))
        elif excess.way == "rewired" and ours is not None and theirs is not None:
            yield ("rewired", value, type_of(ours.name), type_of(theirs.name))
            # Of two calls of one kind it is another turn's: of unlike ones only what is off tells.
            turned = facts.is_divergent[excess.row] and type_of(ours.name) == type_of(theirs.name)
            if excess.times > PLAIN or turned:
                yield ("read", value)
        elif excess.way == "rewired" and facts.is_divergent[excess.row]:
            yield ("read", value)  # written before it in one run, and behind it in the other
        elif excess.way == "moved" and ours is not None:
            yield from (("moved", value, type_of(ours.name)), ("read", value))


def _changes_nothing(tree: Tree, node: TreeNode, prints: Fingerprints) -> bool:
    """Whether a call puts out what it read: a product with one, a dropout that is switched off."""
    call = node.forward if node.direction == "backward" and node.forward is not None else node
    read, made = _values(tree, call, prints)
    return bool(made) and made <= read


def _goes_on(tree: Tree, before: TreeNode, node: TreeNode, prints: Fingerprints) -> bool:
    """Whether a call is one that was seen already, or reads what that one put out."""
    return before is node or not _values(tree, before, prints)[1].isdisjoint(
        _values(tree, node, prints)[0]
    )


def _values(
    tree: Tree, node: TreeNode, prints: Fingerprints
) -> tuple[set[Hashable], set[Hashable]]:
    """What tells the tensors that a node read and those that it put out.

    Sketches, which see the order of elements, and statistics alone where there are none.
    """
    values, read, made = tree.dump.values, set[Hashable](), set[Hashable]()
    for index in range(*node.values):
        record = values.records[index]
        if record.dtype is None or (record.Max is None and record.md5 is None):
            continue
        numbers = (record.shape, record.Max, record.Min, record.Mean, record.Norm, record.md5)
        is_output = values.keys[index].startswith("output")
        (made if is_output else read).add((prints.sketches[index], *numbers))
    return read, made
