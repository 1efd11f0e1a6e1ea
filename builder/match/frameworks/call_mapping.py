"""A user's mapping of calls: which of MindSpore's is which of PyTorch's, value by value."""

from __future__ import annotations

from pathlib import Path

from builder.errors import MappingError
from builder.match.frameworks.words import CallRule
from msprobe_core.format.bounded import parse_yaml

_PARTS = {"args": "input", "outputs": "output", "parameters": "parameters"}


def read_call_mapping(path: Path) -> tuple[CallRule, ...]:
    """Read a list of `ms_api, pt_api` with equally long `ms_args, pt_args` and so on.

    Raises MappingError that names the file and the rule that is wrong.
    """
    try:
        rules = parse_yaml(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise MappingError(f"{path}: {error.strerror}", "give a YAML file to -am") from None
    except ValueError as error:
        raise MappingError(f"{path}: no valid YAML ({error})", "correct the file") from None
    if not isinstance(rules, list):
        raise MappingError(f"{path}: no list", "write `- ms_api: …`, `pt_api: …` for each call")
    return tuple(_rule(path, number, rule) for number, rule in enumerate(rules, 1))


def _rule(path: Path, number: int, rule: object) -> CallRule:
    place = f"{path}: rule {number}"
    names = [rule.get(f"{side}_api") for side in ("ms", "pt")] if isinstance(rule, dict) else []
    if not isinstance(rule, dict) or not all(_is_call(name) for name in names):
        raise MappingError(
            f"{place}: ms_api and pt_api are not both calls", "write names such as Functional.abs"
        )
    keys: dict[str, str] = {}
    for part, role in _PARTS.items():
        ours, theirs = (rule.get(f"{side}_{part}") or [] for side in ("ms", "pt"))
        if not (isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs)):
            raise MappingError(
                f"{place}: ms_{part} and pt_{part} are not equally long lists", "pair every value"
            )
        keys |= {f"{role}.{one}": f"{role}.{other}" for one, other in zip(ours, theirs)}
    return CallRule(str(names[0]), str(names[1]), keys)


def _is_call(name: object) -> bool:
    return isinstance(name, str) and all(name.partition(".")[::2])
