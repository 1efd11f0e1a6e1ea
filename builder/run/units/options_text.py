"""Options of a build as plain values that JSON can hold, and back."""

from __future__ import annotations

from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import msgspec

from builder.compare.score import Tolerance
from builder.errors import InputError
from builder.ranks.merge_options import MergeOptions
from builder.work.options import BuildOptions

# Files that units read: they have to be where the plan says on every host.
FILES = ("layer_mapping", "cell_mapping", "api_mapping", "manual_mapping", "acc_check")
_RECORDS = {"tolerance": Tolerance, "merging": MergeOptions}
_MAPS = ("rank_map", "step_map")


def plain_options(options: BuildOptions) -> dict[str, Any]:
    """Options as JSON values, paths absolute; how many workers there are is not among them.

    Raises InputError for what no plan holds.
    """
    if options.data_mapping is not None:
        raise InputError("a plan holds no pairs of single values", "compare without a plan")
    facts = asdict(options)
    del facts["data_mapping"], facts["workers"]
    for name in FILES:
        facts[name] = None if facts[name] is None else str(Path(facts[name]).absolute())
    facts.update({name: sorted(facts[name].items()) for name in _MAPS})
    plain: dict[str, Any] = msgspec.to_builtins(facts, enc_hook=str)
    return plain


def options_of(plain: dict[str, Any]) -> BuildOptions:
    """The options behind JSON values; raises msgspec.ValidationError for others."""
    known = {field.name for field in fields(BuildOptions)}
    given: dict[str, Any] = {name: value for name, value in plain.items() if name in known}
    for name in FILES:
        given[name] = None if given.get(name) is None else Path(given[name])
    for name in _MAPS:
        given[name] = dict(given.get(name) or ())
    for name, kind in _RECORDS.items():
        given[name] = msgspec.convert(given.get(name, {}), kind, dec_hook=_path)
    return BuildOptions(**given)


def _path(kind: type, value: object) -> object:
    if kind is not Path or not isinstance(value, str):
        raise NotImplementedError(f"no {kind} in a plan")
    return Path(value)
