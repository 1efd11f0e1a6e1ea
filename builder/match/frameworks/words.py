"""Says what MindSpore recorded in PyTorch's words, so that all that follows knows one language.

Only what a node is called for matching and diagnosis changes; `name` and the keys of values, which
people see, stay as they were recorded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from builder.match.frameworks.kinds import CALLS, CLASSES, PARAMETERS, PREFIXES, PRIMITIVES
from builder.match.tree import Tree
from msprobe_core.format import EntryName, parse_entry

MINDSPORE = "mindspore"
_LISTING = ("parameters.", "parameters_grad.")


@dataclass(frozen=True, slots=True)
class CallRule:
    """One call in both frameworks; `keys` maps its values as MindSpore has them to PyTorch's."""

    mindspore: str
    pytorch: str
    keys: Mapping[str, str] = field(default_factory=dict)


CallRules = Mapping[str, CallRule]
"""The rules of a user for calls, by MindSpore's names."""


def speak_alike(tree: Tree, rules: CallRules) -> None:
    """Give the nodes of a MindSpore dump PyTorch's words; again changes nothing."""
    if tree.dump.framework != MINDSPORE:
        return
    for node in tree.in_order:
        if node.entry is not None:
            rule = rules.get(node.entry.owner)
            entry = in_torch_words(node.entry)
            node.entry = entry if rule is None else _as_told(entry, rule)
            node.owner = node.entry.owner


def unfit_rules(problem: Tree, benchmark: Tree, rules: CallRules) -> tuple[str, ...]:
    """The rules whose call one of two dumps does not have, as `<MindSpore's>: <PyTorch's>`.

    All of them, where the dumps are not of these two frameworks.
    """
    if not rules:
        return ()
    sides = sorted((problem, benchmark), key=lambda tree: tree.dump.framework != MINDSPORE)
    ours, theirs = map(_recorded_calls, sides)
    across = problem.dump.framework != benchmark.dump.framework
    return tuple(
        f"{rule.mindspore}: {rule.pytorch}"
        for rule in rules.values()
        if not (across and rule.mindspore in ours and rule.pytorch in theirs)
    )


def _recorded_calls(tree: Tree) -> set[str]:
    nodes = (node for node in tree.in_order if node.kind == "api" and node.entry is not None)
    return {parse_entry(node.name).owner for node in nodes}


def _as_told(entry: EntryName, rule: CallRule) -> EntryName:
    prefix, _, name = rule.pytorch.partition(".")
    return entry._replace(prefix=prefix, type_name=name, owner=rule.pytorch)


def in_torch_words(entry: EntryName) -> EntryName:
    """An entry name as PyTorch would have it; what PyTorch calls the same stays."""
    prefix = PREFIXES.get(entry.prefix, entry.prefix)
    if entry.kind == "api":
        kind = _call(entry)
        return entry._replace(prefix=prefix, type_name=kind, owner=f"{prefix}.{kind}")
    kind = CLASSES.get(entry.type_name, entry.type_name)
    path = f"{entry.path}." if entry.path else ""
    return entry._replace(prefix=prefix, type_name=kind, owner=f"{prefix}.{path}{kind}")


def _call(entry: EntryName) -> str:
    if entry.prefix == "Primitive":
        return PRIMITIVES.get(entry.type_name.rpartition(".")[2], entry.type_name)
    return CALLS.get(entry.type_name, entry.type_name)


def pairing_keys(keys: Sequence[str], others: Sequence[str], told: Mapping[str, str]) -> list[str]:
    """The keys of a node's values by which they pair with those of its partner, `others`.

    What a user's rule has `told` wins. A parameter that the partner does not have goes by the
    partner's name for it.
    """
    there = set(others)
    return [told.get(key) or (key if key in there else _other_name(key, there)) for key in keys]


def keys_told(name: str, rules: CallRules, is_mindspore: bool) -> Mapping[str, str]:
    """What a user's rule says of the values of one recorded call, from its side to the other."""
    rule = rules.get(parse_entry(name).owner) if rules else None
    if rule is None:
        return {}
    return rule.keys if is_mindspore else {theirs: ours for ours, theirs in rule.keys.items()}


def _other_name(key: str, there: set[str]) -> str:
    role = next((role for role in _LISTING if key.startswith(role)), None)
    if role is None:
        return key
    name = key.removeprefix(role)
    other = PARAMETERS.get(name) or next(
        (ours for ours, theirs in PARAMETERS.items() if theirs == name and role + ours in there),
        name,
    )
    return role + other if role + other in there else key
