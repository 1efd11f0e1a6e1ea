"""Says what a framework recorded in PyTorch's words, so that all that follows knows one language.

Only what a node is called for matching and diagnosis changes; `name` and the keys of values, which
people see, stay as they were recorded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from builder.dump.reader import Dump
from builder.match.tree import Tree
from msprobe_core.format import EntryName, framework_named, parse_entry
from msprobe_core.format.frameworks import Words

_LISTING = ("parameters.", "parameters_grad.")


@dataclass(frozen=True, slots=True)
class CallRule:
    """A call of a framework and PyTorch's; `keys` maps its values as the framework has them."""

    framework: str
    call: str
    pytorch: str
    keys: Mapping[str, str] = field(default_factory=dict)


CallRules = Mapping[str, CallRule]
"""The rules of a user for calls, by the names that are not PyTorch's."""


def speak_alike(tree: Tree, rules: CallRules) -> None:
    """Give the nodes of a dump PyTorch's words; again changes nothing."""
    words = words_of(tree.dump)
    if words is None:
        return
    for node in tree.in_order:
        if node.entry is not None:
            rule = rules.get(node.entry.owner)
            told = rule is not None and rule.framework == tree.dump.framework
            entry = in_torch_words(node.entry, words)
            node.entry = _as_told(entry, rule) if rule is not None and told else entry
            node.owner = node.entry.owner


def words_of(dump: Dump) -> Words | None:
    """What a dump's names are in PyTorch's words; None where they are those, or nobody knows."""
    return framework_named(dump.framework).words


def unfit_rules(problem: Tree, benchmark: Tree, rules: CallRules) -> tuple[str, ...]:
    """The rules whose call one of two dumps does not have, as `<the framework's>: <PyTorch's>`.

    All of them, where the dumps are not of two frameworks.
    """
    if not rules:
        return ()
    sides = sorted((problem, benchmark), key=lambda tree: words_of(tree.dump) is None)
    ours, theirs = map(_recorded_calls, sides)
    across = problem.dump.framework != benchmark.dump.framework
    return tuple(
        f"{rule.call}: {rule.pytorch}"
        for rule in rules.values()
        if not (across and rule.call in ours and rule.pytorch in theirs)
    )


def _recorded_calls(tree: Tree) -> set[str]:
    nodes = (node for node in tree.in_order if node.kind == "api" and node.entry is not None)
    return {parse_entry(node.name).owner for node in nodes}


def _as_told(entry: EntryName, rule: CallRule) -> EntryName:
    prefix, _, name = rule.pytorch.partition(".")
    return entry._replace(prefix=prefix, type_name=name, owner=rule.pytorch)


def in_torch_words(entry: EntryName, words: Words) -> EntryName:
    """An entry name as PyTorch would have it; what PyTorch calls the same stays."""
    prefix = words.prefixes.get(entry.prefix, entry.prefix)
    if entry.kind == "api":
        kind = _call(entry, words)
        return entry._replace(prefix=prefix, type_name=kind, owner=f"{prefix}.{kind}")
    kind = words.classes.get(entry.type_name, entry.type_name)
    path = f"{entry.path}." if entry.path else ""
    return entry._replace(prefix=prefix, type_name=kind, owner=f"{prefix}.{path}{kind}")


def _call(entry: EntryName, words: Words) -> str:
    members = words.members.get(entry.prefix)
    if members is not None:
        return members.get(entry.type_name.rpartition(".")[2], entry.type_name)
    return words.calls.get(entry.type_name, entry.type_name)


@dataclass(frozen=True, slots=True)
class KeyWords:
    """How the keys of values of a node and of its partner say the same things."""

    told: Mapping[str, str]
    """What a user's rule says of the call's values, from the node's side to the partner's."""
    ours: Mapping[str, str]
    theirs: Mapping[str, str]
    """The names of parameters of either side by PyTorch's, where those are others."""

    @classmethod
    def of(cls, problem: Dump, benchmark: Dump, told: Mapping[str, str]) -> KeyWords:
        """The words of two dumps' frameworks."""
        ours, theirs = words_of(problem), words_of(benchmark)
        none: Mapping[str, str] = {}
        return cls(told, ours.parameters if ours else none, theirs.parameters if theirs else none)


def pairing_keys(keys: Sequence[str], others: Sequence[str], words: KeyWords) -> list[str]:
    """The keys of a node's values by which they pair with those of its partner, `others`.

    What a user's rule has told wins. A parameter that the partner does not have goes by the
    partner's name for it.
    """
    there = set(others)
    return [
        words.told.get(key) or (key if key in there else _other_name(key, there, words))
        for key in keys
    ]


def keys_told(name: str, rules: CallRules, is_pytorch: bool) -> Mapping[str, str]:
    """What a user's rule says of the values of one recorded call, from its side to the other.

    `name` is the call as the framework that is not PyTorch recorded it, `is_pytorch` whether the
    side is the other one.
    """
    rule = rules.get(parse_entry(name).owner) if rules else None
    if rule is None:
        return {}
    return {theirs: ours for ours, theirs in rule.keys.items()} if is_pytorch else rule.keys


def _other_name(key: str, there: set[str], words: KeyWords) -> str:
    role = next((role for role in _LISTING if key.startswith(role)), None)
    if role is None:
        return key
    name = key.removeprefix(role)
    # A port may keep the names of the framework that it came from.
    meant = words.ours.get(name) or words.theirs.get(name) or name
    alike = [meant]
    if name not in words.theirs:
        alike += [own for own, theirs in words.theirs.items() if theirs == meant]
    return next((role + other for other in alike if role + other in there), key)
