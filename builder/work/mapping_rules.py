"""What a user's mapping files ask of the matching, and whether the dumps had what they name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from builder.errors import InputError, MappingError
from builder.match.frameworks.words import CallRules
from builder.match.manual_file import read_mapping, read_weights
from builder.match.nodes import MatchRules, ModuleMapping
from builder.work.options import BuildOptions
from builder.work.outcome import PairOutcome


def match_rules(options: BuildOptions, comparison: bool) -> MatchRules:
    """Read what the options name; raises InputError or MappingError where it cannot be used."""
    mapping, manual = options.layer_mapping, options.manual_mapping
    wanted = mapping or manual or options.fuzzy_match or options.match_by_position
    if wanted and not comparison:
        raise InputError("mappings and fuzzy matching pair two dumps", "give a benchmark too")
    if mapping is not None and options.match_by_position:
        raise InputError(
            f"{mapping}: a mapping file and matching by position exclude each other", "give one"
        )
    return MatchRules(
        layer_mapping=_module_mapping(options),
        by_position=options.match_by_position,
        fuzzy=options.fuzzy_match,
        manual=read_mapping(manual) if manual is not None else (),
        weights=read_weights(manual) if manual is not None else (),
        values=_data_mapping(options.data_mapping),
        calls=_call_mapping(options.api_mapping),
    )


def manual_pairs(rules: MatchRules) -> dict[str, object]:
    """The pairs made by hand that a result was built with, as its `meta` has them."""
    return {"manual_pairs": msgspec.to_builtins(list(rules.manual))} if rules.manual else {}


def check_rules(rules: MatchRules, options: BuildOptions, outcomes: Sequence[PairOutcome]) -> None:
    """Raise MappingError for what no pair of the whole build had."""
    done = [outcome for outcome in outcomes if outcome.error is None]
    if not done:
        return
    if rules.layer_mapping is not None:
        states = list(zip(*(outcome.rules for outcome in done)))
        used = [any(state.used for state in column) for column in states]
        reached = [any(state.reached for state in column) for column in states]
        rules.layer_mapping.check(used, reached)
    for pair, matched in zip(rules.manual, zip(*(outcome.manual for outcome in done))):
        if not any(matched):
            raise MappingError(
                f"{options.manual_mapping}: no step and rank has both {pair.problem} and "
                f"{pair.benchmark}",
                "remove this pair",
            )
    for weights, found_in in zip(rules.weights, zip(*(o.weights_by_hand for o in done))):
        if not any(found_in):
            raise MappingError(
                f"{options.manual_mapping}: no step and rank has all weights of {weights}, "
                "compared as two programs of one model",
                "correct their paths, or remove them",
            )
    for (name, other), found in zip(rules.values.items(), zip(*(o.named for o in done))):
        if any(all(sides) for sides in found):
            continue
        has_ours, has_theirs = (any(side) for side in zip(*found))
        if has_ours and has_theirs:
            lost = "no step and rank has both"
        else:
            lost = (
                f"the benchmark has no value {other}"
                if has_ours
                else f"the problem has no value {name}"
            )
        raise MappingError(f"{name}: {other}: {lost}", "correct the line")


# Few builds need YAML, and loading its parser takes as long as reading a small dump.
def _module_mapping(options: BuildOptions) -> ModuleMapping | None:
    layers, cells = options.layer_mapping, options.cell_mapping
    if layers is not None and cells is not None:
        raise InputError(f"{layers} and {cells}: one of the two can rename modules", "give one")
    if cells is not None:
        from builder.match.name_file import read_cell_mapping

        return read_cell_mapping(cells)
    if layers is not None:
        from builder.match.layer_file import read_layer_mapping

        return read_layer_mapping(layers)
    return None


def _call_mapping(path: Path | None) -> CallRules:
    if path is None:
        return {}
    from builder.match.frameworks.call_mapping import read_call_mapping

    return {rule.call: rule for rule in read_call_mapping(path)}


def _data_mapping(mapping: Path | Mapping[str, str] | None) -> Mapping[str, str]:
    if isinstance(mapping, Path):
        from builder.match.name_file import read_data_mapping

        return read_data_mapping(mapping)
    return mapping or {}
