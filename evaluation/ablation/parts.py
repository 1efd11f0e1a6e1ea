"""The parts of the diagnosis that can be switched off, and what stands in for each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf
from types import ModuleType

from builder.diagnosis import changes, choices, excess, expectation, facts
from builder.diagnosis.policies.by_excess import (
    edges,
    excess_case,
    excess_rules,
    moved_values,
    returned_gradients,
    sketched_sums,
)
from builder.diagnosis.policies.by_excess import excess_policy as by_excess
from builder.diagnosis.policies.by_scores import candidates, let_pass, score_facts, score_rules
from builder.diagnosis.policies.by_scores import score_policy as by_scores
from builder.operators import table
from builder.operators.table import TABLE, Operator

Part = tuple[object, str, object]


def _nothing(*_: object, **__: object) -> None:
    return None


def _none_of_them(*_: object) -> list[int]:
    return []


def _no_findings(*_: object) -> tuple[()]:
    return ()


def _no_excess(*_: object) -> excess.Excess:
    return excess.NO_EXCESS


def _never(*_: object) -> bool:
    return False


def _always(*_: object) -> bool:
    return True


def _zero(*_: object) -> float:
    return 0.0


def _without(names: str) -> dict[str, Operator]:
    """The table with no gains of some calls; what else is known of them stays."""
    left_out = set(names.split())
    return {n: replace(row, gain=None) if n in left_out else row for n, row in TABLE.items()}


def _alike(*calls: str) -> str:
    """All calls whose gain is that of one of some calls."""
    gains = [TABLE[call].gain for call in calls]
    return " ".join(name for name, row in TABLE.items() if row.gain in gains)


def _rounding(self: expectation.Expectations, row: int, flowing: list[int], walked: float) -> float:
    return self.known.noise[row]


def _not_in_step(self: expectation.Expectations, rows: list[int | None], output: int) -> float:
    return 0.0


_GRADIENTS = {name: replace(row, gradient=None) for name, row in TABLE.items()}
_WALK, _CHANGES = by_excess.ByExcess, changes.Changes
RULES_OF = {by_excess: excess_rules, by_scores: score_rules}
NOTHING = "nothing"
GAINS: dict[str, list[Part]] = {
    "the registry of gains": [(table, "TABLE", _without(" ".join(TABLE)))],
    "gains of calls that move elements": [(table, "TABLE", _without(_alike("view")))],
    "gains of sums": [(table, "TABLE", _without(_alike("add")))],
    "gains of products": [(table, "TABLE", _without(_alike("mul", "addcmul", "pow")))],
    "gains of quotients and roots": [
        (table, "TABLE", _without(_alike("div", "addcdiv", "rsqrt", "reciprocal", "sqrt")))
    ],
    "gains of contractions": [
        (table, "TABLE", _without(_alike("matmul", "linear", "addmm", "addmv")))
    ],
    "gains of gradients": [(table, "TABLE", _GRADIENTS)],
    "gradients of parameters as their call put them out": [
        (expectation.Expectations, "_handed_on", _zero)
    ],
    "errors in step with the terms of a sum": [(expectation.Expectations, "in_step", _not_in_step)],
    "rounding of what cancels in gradients": [(expectation.Expectations, "_cancelled", _rounding)],
    "rounding of weight gradients as a random walk": [
        (expectation.Expectations, "_random_walk", _zero)
    ],
    "gates": [(expectation.Expectations, "gated", _zero)],
    "choices": [(expectation.Expectations, "has_chosen", _never)],
}
"""What is expected of distances: asked where elements were seen, and of merged ranks."""


def rules_of(policy: ModuleType) -> dict[str, tuple[Callable[..., object], ...]]:
    """The lists of rules that a policy asks, by their names."""
    module = RULES_OF[policy]
    return {name: getattr(module, name) for name in vars(module) if name.startswith("RULES_FOR_")}


def without_rule(policy: ModuleType, rule: str) -> list[Part]:
    """A rule of a policy switched off, in whatever list it stands."""
    return [
        (policy, listed, tuple(one for one in rules if one.__name__ != rule))
        for listed, rules in rules_of(policy).items()
        if any(one.__name__ == rule for one in rules)
    ]


def each_rule(policy: ModuleType) -> dict[str, list[Part]]:
    """Every rule of a policy's registry, switched off by itself."""
    every = [rule.__name__ for rules in rules_of(policy).values() for rule in rules]
    return {rule: without_rule(policy, rule) for rule in dict.fromkeys(every)}


BY_EXCESS: dict[str, list[Part]] = {
    **each_rule(by_excess),
    "gradients that are added up": [(returned_gradients.ReturnedGradients, "_least", _nothing)],
    "gradients of a call of several": [
        (returned_gradients.ReturnedGradients, "_of_composite", _nothing)
    ],
    "a gradient that its call did not record": [
        (returned_gradients.ReturnedGradients, "silent_maker", _nothing)
    ],
    "gradients that a finding returned": [(_WALK, "_returned_by_a_finding", _nothing)],
    "sums that sketches tell": [(sketched_sums, "of_sum", _nothing)],
    "sums of one call that sketches tell": [(sketched_sums, "of_call", _nothing)],
    "values that nobody recorded moving": [(moved_values.MovedValues, "maker", _nothing)],
    "norms of moved parts": [
        (edges, "stand_beside", _nothing),
        (returned_gradients, "stand_beside", _nothing),
    ],
    "edges": [(edges.Edges, "of_input", _no_excess)],
    "outputs of modules": [(edges.Edges, "of_module_output", _no_excess)],
    "outputs of calls": [(_WALK, "_excess", _no_excess)],
    "parameters": [(excess_case.Parameters, "wrong_of", _none_of_them)],
    "shares around a value that nobody made": [(edges.Edges, "around", _zero)],
    "shares of a module's forward pass": [(edges.Edges, "_kept", _zero)],
    "gradients of one size before the optimizer": [(edges.GradientShares, "of_size", _nothing)],
    "the same in another form": [(facts.Facts, "is_of_another_form", _never)],
    "operands in another order": [(edges.Edges, "_are_exchanged", _never)],
    "integers that rounding may have reached": [(edges.Edges, "_come_of_floats", _never)],
    "an edge is said once": [(_WALK, "_said_already", _nothing)],
    "a gradient over an edge that was named": [(_WALK, "_moved_forward", _nothing)],
    "the run's own input by scores": [(_WALK, "_is_other_data", _always)],
    "another choice of the same": [(_WALK, "_chose_otherwise", _never)],
    "a lower limit for changed calls": [(by_excess, "_CHANGED", excess.PLAIN)],
    "findings behind findings": [
        (by_excess, "BEHIND", inf),
        (excess_rules, "BEHIND", inf),
    ],
    "requires_grad": [(_CHANGES, "of_gradient", _nothing)],
    "a call that shows in the next step": [(_CHANGES, "late", _nothing)],
}
"""The walk by excess."""

_SCORES, _FOUND = by_scores.ByScores, candidates.Candidates
_SCORED, _CHOICES = score_facts.ScoreFacts, choices.Choices
BY_SCORES: dict[str, list[Part]] = {
    **each_rule(by_scores),
    "what the bounds explain": [(_SCORED, "hands_on_distance", _never)],
    "the same in another form": [(_SCORED, "is_written_otherwise", _never)],
    "elements that rounding picked": [(_CHOICES, "is_selection", _never)],
    "gradients of picked elements": [(_CHOICES, "_picks_back", _never)],
    "what a module hands on": [(let_pass.LetPass, "are", _never)],
    "inputs judged where they were made": [(_SCORES, "_is_tolerated", _never)],
    "scaled gradients": [(_SCORES, "_scaled_gradients", _none_of_them)],
    "other integers": [(_SCORES, "_other_integers", _nothing)],
    "clear differences": [(_SCORED, "is_clear", _always)],
    "the usual strain": [(_FOUND, "usual_strain", _zero)],
    "candidates that made a value": [
        (by_scores, "candidate_that_made", _nothing),
        (score_rules, "candidate_that_made", _nothing),
    ],
    "candidates that a dump names": [(score_rules, "_candidate_ahead", _nothing)],
    "candidates before a difference": [(_FOUND, "behind", _nothing)],
    "candidates inside a module": [(_FOUND, "inside", _nothing)],
    "values followed upstream": [
        (score_rules, "may_follow_a_finding", _always),
        (by_scores, "may_follow_a_finding", _always),
    ],
    "data that no call made": [(score_rules.Case, "is_foreign", _never)],
    "drift": [(_SCORES, "_drift", _nothing)],
    "lone updates": [(by_scores, "lone_updates", _no_findings)],
    "updates handed on": [(_SCORES, "_handed_on_updates", _no_findings)],
    "a call that shows in the next step": [(_CHANGES, "late", _nothing)],
}
"""The walk by scores."""
