"""A user's mapping of calls: which of a framework's is which of PyTorch's, value by value.

The keys of a rule begin with the frameworks' short names: `ms_api`, `pt_api`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from builder.errors import MappingError
from builder.match.frameworks.words import CallRule
from msprobe_core.format.bounded import parse_yaml
from msprobe_core.format.frameworks import (
    PYTORCH,
    FrameworkDescription,
    framework_called,
    translated_frameworks,
)

_CALL = "_api"
_PARTS = {"args": "input", "outputs": "output", "parameters": "parameters"}


def read_call_mapping(path: Path) -> tuple[CallRule, ...]:
    """Read a list of `<short>_api, pt_api` with equally long `<short>_args, pt_args` and so on.

    Raises MappingError that names the file and the rule that is wrong.
    """
    try:
        rules = parse_yaml(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise MappingError(f"{path}: {error.strerror}", "give a YAML file to -am") from None
    except ValueError as error:
        raise MappingError(f"{path}: no valid YAML ({error})", "correct the file") from None
    if not isinstance(rules, list):
        example = translated_frameworks()[0].short
        hint = f"write `- {example}_api: …`, `{PYTORCH.short}_api: …` for each call"
        raise MappingError(f"{path}: no list", hint)
    return tuple(_rule(path, number, rule) for number, rule in enumerate(rules, 1))


def _rule(path: Path, number: int, rule: object) -> CallRule:
    place = f"{path}: rule {number}"
    framework = _translated(rule) if isinstance(rule, dict) else translated_frameworks()[0]
    own, pytorch = sides = (framework.short, PYTORCH.short)
    names = [rule.get(f"{side}_api") for side in sides] if isinstance(rule, dict) else []
    if not isinstance(rule, dict) or not all(_is_call(name) for name in names):
        raise MappingError(
            f"{place}: {own}_api and {pytorch}_api are not both calls",
            "write names such as Functional.abs",
        )
    keys: dict[str, str] = {}
    for part, role in _PARTS.items():
        ours, theirs = (rule.get(f"{side}_{part}") or [] for side in sides)
        if not (isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs)):
            raise MappingError(
                f"{place}: {own}_{part} and {pytorch}_{part} are not equally long lists",
                "pair every value",
            )
        keys |= {f"{role}.{one}": f"{role}.{other}" for one, other in zip(ours, theirs)}
    return CallRule(framework.name, str(names[0]), str(names[1]), keys)


def _translated(rule: Mapping[object, object]) -> FrameworkDescription:
    """The framework whose call a rule pairs with PyTorch's; the first where it names none."""
    named = (str(key).removesuffix(_CALL) for key in rule if str(key).endswith(_CALL))
    known = (framework_called(name) for name in named if name != PYTORCH.short)
    found = (each for each in known if each is not None and each.words is not None)
    return next(found, translated_frameworks()[0])


def _is_call(name: object) -> bool:
    return isinstance(name, str) and all(name.partition(".")[::2])
