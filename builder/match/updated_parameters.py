"""Which parameter each call of an optimizer updates: calls pair by it, whatever their order.

The header of a dump of ours holds, by the name of each parameter, what the optimizer's step read.
What reads a parameter or its gradient is of that parameter, and so are the calls around it, from
the one with which an optimizer begins each parameter to the next of that name. Where it goes over
its parameters more than once, only the first round begins so: there a call is of the parameter that
was read last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from builder.dump.passing_calls import call_of
from builder.dump.reader import Dump
from builder.dump.values import Record
from builder.match.tree import Tree, TreeNode

OPTIMIZER = "optimizer"
# Why calls have no partner: the other run has no parameter of the name that stands behind it.
OTHER_PARAMETER = "other_parameter"
_Bits = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class ParameterCalls:
    """The calls of both optimizers for one parameter; `name` is its name in the run that has it.

    Where several optimizers take a step it is the calls of one of them; `elsewhere` says that the
    other run has the parameter in the step of another one.
    """

    name: str
    problem: list[TreeNode]
    benchmark: list[TreeNode]
    elsewhere: bool = False

    def alone(self) -> Iterator[tuple[TreeNode, str]]:
        """The calls for a parameter that one run alone has, each with the reason."""
        if not self.elsewhere and not (self.problem and self.benchmark):
            for call in (*self.problem, *self.benchmark):
                yield call, f"{OTHER_PARAMETER}:{self.name}"


def same_updates(ours: Tree, theirs: Tree) -> Iterator[tuple[TreeNode, TreeNode]]:
    """What optimizers did to parameters of one name: each layout has an order of its own."""
    for node in ours.in_order:
        if node.is_update:
            partner = theirs.by_name.get(node.name)
            if partner is not None:
                yield node, partner


def pairs_by_parameter(
    left: Sequence[TreeNode],
    right: Sequence[TreeNode],
    ours: Tree,
    theirs: Tree,
    partner: Mapping[TreeNode, TreeNode],
) -> list[ParameterCalls] | None:
    """The calls of both optimizers by the parameter that they update, if that is known.

    A parameter goes by what it is called in the module that is the partner of its own.
    """
    if not left or not right or {_parent(left[0]), _parent(right[0])} != {OPTIMIZER}:
        return None
    paths = _partner_paths(ours, partner)
    every = _pairs(parted_by_parameter(left, ours), parted_by_parameter(right, theirs), paths)
    if every is None:
        return None
    steps, their_steps = list(_steps(left)), list(_steps(right))
    if len(steps) < 2 or len(steps) != len(their_steps):
        return every
    both = {parameter.name for parameter in every if parameter.problem and parameter.benchmark}
    found: list[ParameterCalls] = []
    for one, other in zip(steps, their_steps, strict=True):
        paired = _pairs(parted_by_parameter(one, ours), parted_by_parameter(other, theirs), paths)
        if paired is None:
            return every
        found += [replace(parameter, elsewhere=parameter.name in both) for parameter in paired]
    return found


def _pairs(
    own: Mapping[str, list[TreeNode]] | None,
    other: Mapping[str, list[TreeNode]] | None,
    paths: Mapping[str, str],
) -> list[ParameterCalls] | None:
    """Calls of both sides by their parameters; None where these are not known, or have nothing in
    common.
    """
    if own is None or other is None:
        return None
    names = {renamed_parameter(name, paths): name for name in own}
    called = _own_names(names, other, paths)
    names = {called.get(name, name): here for name, here in names.items()}
    if len(names) < len(own) or not set(names) & set(other):
        return None
    return [
        ParameterCalls(names.get(name, name), own.get(names.get(name, ""), []), other.get(name, []))
        for name in {**names, **other}
    ]


def _own_names(
    names: Iterable[str], others: Iterable[str], paths: Mapping[str, str]
) -> dict[str, str]:
    """The name there of a parameter that its module calls otherwise: the one left on either side.

    >>> _own_names(["a.gain", "a.bias"], ["a.weight", "a.bias"], {"b": "a"})
    {'a.gain': 'a.weight'}
    """
    ours, theirs = _by_module(set(names) - set(others)), _by_module(set(others) - set(names))
    both = ours.keys() & theirs.keys() & set(paths.values())
    return {
        ours[module][0]: theirs[module][0]
        for module in both
        if len(ours[module]) == len(theirs[module]) == 1
    }


def _by_module(names: Iterable[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(name.rpartition(".")[0], []).append(name)
    return found


def _steps(calls: Sequence[TreeNode]) -> Iterator[list[TreeNode]]:
    """The calls of one optimizer's step each: the dump has values of something else between two.

    Calls without values, as those that make its state, are of the step of the next call with some.
    """
    step: list[TreeNode] = []
    ahead: list[TreeNode] = []
    end = 0
    for call in calls:
        ahead.append(call)
        if call.values[0] == call.values[1]:
            continue
        if step and call.values[0] > end:
            yield step
            step = []
        step += ahead
        ahead, end = [], call.values[1]
    yield [*step, *ahead]


def _partner_paths(tree: Tree, partner: Mapping[TreeNode, TreeNode]) -> dict[str, str]:
    """By the path of each module that has a partner so far the path that it has there."""
    pairs = (
        (n.entry, partner[n].entry) for n in tree.in_order if n.kind == "module" and n in partner
    )
    return {ours.path: theirs.path for ours, theirs in pairs if ours and theirs}


def renamed_parameter(name: str, paths: Mapping[str, str]) -> str:
    """A parameter as the other run calls it, by the nearest module around it that has a partner.

    >>> renamed_parameter("units.0.up.weight", {"units.0": "stages.0", "up": "down"})
    'stages.0.up.weight'
    """
    module, _, rest = name.rpartition(".")
    while module and module not in paths:
        module, _, last = module.rpartition(".")
        rest = f"{last}.{rest}"
    return f"{paths[module]}.{rest}" if module else name


def parted_by_parameter(calls: Sequence[TreeNode], tree: Tree) -> dict[str, list[TreeNode]] | None:
    """Calls by the parameter that they update; None where that is not known of every one.

    Those without values make what it is updated by, as moments before the first step: they are of
    the parameter of what reads that, or of the nearest for which that is known.
    """
    silent = [call for call in calls if call.values[0] == call.values[1]]
    valued = [call for call in calls if call.values[0] < call.values[1]]
    names = dict(zip(valued, parameters_of(valued, tree)))
    names |= zip(silent, _read_by(silent, names, tree))
    parted: dict[str, list[TreeNode]] = {}
    for call in calls:
        name = names[call]
        if name is None:
            return None
        parted.setdefault(name, []).append(call)
    return parted


def _read_by(
    silent: Sequence[TreeNode], names: Mapping[TreeNode, str | None], tree: Tree
) -> Iterator[str | None]:
    """The parameter of the call that reads what each call without values put out."""
    records, readers = tree.dump.values.records, dict[str, str | None]()
    for reader, name in names.items():
        for record in records[slice(*reader.values)]:
            if record.through is not None:
                readers.setdefault(call_of(record.through), name)
    for block in _blocks(silent):
        yield from _read_last([readers.get(call.name) for call in block])


def _parent(node: TreeNode) -> str | None:
    return node.parent.name if node.parent is not None else None


def parameters_of(calls: Sequence[TreeNode], tree: Tree) -> list[str | None]:
    """The parameter that each call works on; None where nothing tells."""
    known = _parameters(tree.dump)
    values = tree.dump.values
    listed: list[str | None] = []
    for block in _blocks(calls):
        read = [(bits_of(values.records[i]) for i in range(*call.values)) for call in block]
        named = [next((known[b] for b in bits if known.get(b)), None) for bits in read]
        listed += _read_last(named)
    return listed


def _read_last(named: Sequence[str | None]) -> Iterator[str | None]:
    """Each name of a block for the calls behind it, too, and the first for those before it.

    >>> list(_read_last([None, "weight", None, "bias", None]))
    ['weight', 'weight', 'weight', 'bias', 'bias']
    """
    last = next((name for name in named if name), None)
    for name in named:
        last = name or last
        yield last


def _blocks(calls: Sequence[TreeNode]) -> Iterator[list[TreeNode]]:
    """The calls of one parameter each: an optimizer begins with the same call every time."""
    block: list[TreeNode] = []
    for call in calls:
        if block and call.owner == calls[0].owner:
            yield block
            block = []
        block.append(call)
    if block:
        yield block


def _parameters(dump: Dump) -> dict[_Bits, str | None]:
    """Parameters by what tells them and their gradients; None where two are alike."""
    known: dict[_Bits, str | None] = {}
    for step in dump.optimizer.values():
        for what in ("parameters", "input"):
            for name, record in step.get(what, {}).items():
                if not record.Norm:  # so is every moment before its first update
                    continue
                bits = bits_of(record)
                known[bits] = name if known.get(bits, name) == name else None
    return known


def bits_of(record: Record) -> _Bits:
    """What tells a tensor from others: its shape, extremes and norm."""
    return (record.shape, record.Max, record.Min, record.Norm)
