"""Layouts that a user tells by name, in a file: how values lie over ranks where no dump says it.

A line is `"<pattern>": "<dims>"`, in the grammar of SGLang's comparator: a word per dimension, what
cuts it in brackets behind it (`"2*ffn[tp,pieces=2] h"`), `[dp:partial]` and, behind `#`,
`ep:replicated` for the whole value; or `"<pattern>": local` for what has no counterpart.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path

from builder.dump.joined_tensors import JoinKind, Variant
from builder.errors import InputError
from builder.ranks.assembly.alignment import parse

OPTIMIZER = "Optimizer."  # before the name of a parameter, in what an optimizer did to it
_LINE = re.compile(r'"(?P<pattern>[^"]+)"\s*:\s*(?:"(?P<dims>[^"]*)"|(?P<word>\w+))\s*(?:#.*)?')
_DIM = re.compile(r"(?P<name>[\w*]*)(?:\[(?P<cuts>[^\[\]]*)\])?")
# Experts lie over ranks of the other axes.
_AXES = {"tp": "tp", "etp": "tp", "cp": "cp", "sp": "tp", "ep": "dp", "dp": "dp"}
_WHOLE: dict[str, JoinKind] = {"replicated": "R", "partial": "P"}
_PIECES = re.compile(r"pieces=(?P<number>[1-9]\d*)(?P<others>(\+[1-9]\d*)*)")


@dataclass(frozen=True, slots=True)
class ToldAxis:
    """How values lie along one axis; `dim` and `variant` are those of a cut."""

    axis: str
    kind: JoinKind
    dim: int = 0
    variant: Variant = field(default_factory=Variant)


@dataclass(frozen=True, slots=True)
class LayoutRule:
    """One line: the values it is about, how many dimensions they have, and how they lie.

    Without dimensions (`None`) it holds for values of any number of them.
    """

    line: int
    pattern: str
    dims: int | None = None
    axes: tuple[ToldAxis, ...] = ()
    is_local: bool = False


@dataclass(frozen=True, slots=True)
class LayoutFile:
    """The rules of a file in order; the first that matches a value is about it."""

    path: str
    rules: tuple[LayoutRule, ...]

    def of(self, owner: str, key: str) -> LayoutRule | None:
        """The rule about a value of an entry of the logical model."""
        names = list(names_of(owner, key))
        matching = (r for r in self.rules if any(fnmatchcase(n, r.pattern) for n in names))
        return next(matching, None)


def read_layouts(path: Path) -> LayoutFile:
    """Read a layout file. Raises InputError, with the line, for what is not understood."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}", "give a file to --layout") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is no text ({error})", "give a file of rules") from error
    rules = []
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if text and not text.startswith("#"):
            try:
                rules.append(_rule(number, text))
            except ValueError as error:
                hint = 'write "*.linear_fc1.weight": "2*ffn[tp,pieces=2] h", or "*.probs": local'
                raise InputError(f"{path}:{number}: {error}", hint) from None
    return LayoutFile(str(path), tuple(rules))


def names_of(owner: str, key: str) -> Iterator[str]:
    """What a value is called in a layout file.

    A parameter, its gradient and what the optimizer does to it by the parameter's name; others by
    `<module>.forward.output.0` and by the whole name of their entry.
    """
    role, _, last = key.partition(".")
    if owner.startswith(OPTIMIZER):
        yield owner.removeprefix(OPTIMIZER).rsplit(".", 2)[0]
        return
    entry = parse(owner)
    if entry is not None and entry.kind != "api":
        if role in ("parameters", "parameters_grad"):
            yield f"{entry.path}.{last}" if entry.path else last
            return
        yield f"{entry.path}.{entry.direction}.{key}"
    yield f"{owner}.{key}"


def check_used(files: Sequence[LayoutFile], used: frozenset[tuple[str, int]]) -> None:
    """Raise InputError for the first rule that is about no value; `used` are files and lines."""
    for file in files:
        for rule in file.rules:
            if (file.path, rule.line) not in used:
                raise InputError(
                    f"{file.path}:{rule.line}: {rule.pattern!r} matches no value",
                    "patterns match names such as layers.0.mlp.up.weight and "
                    "layers.0.mlp.forward.output.0, and the first that matches wins",
                )


# --- the grammar --------------------------------------------------------------------------------


def _rule(number: int, text: str) -> LayoutRule:
    found = _LINE.fullmatch(text)
    if found is None:
        raise ValueError(f'{text!r} is no "pattern": "dims"')
    pattern, dims, word = found["pattern"], found["dims"], found["word"]
    if dims is None:
        if word != "local":
            raise ValueError(f"{word!r} is neither local nor dims in quotes")
        return LayoutRule(number, pattern, is_local=True)
    named, _, whole = dims.partition("#")
    count, axes = 0, []
    for token in named.split():
        of_token, is_dim = _dimension(token, count)
        axes += of_token
        count += is_dim
    axes += [_of_whole(text) for text in whole.split()]
    twice = [axis.axis for axis in axes if [a.axis for a in axes].count(axis.axis) > 1]
    if twice:
        raise ValueError(f"says two things of {twice[0]}")
    return LayoutRule(number, pattern, count or None, tuple(axes))


def _dimension(token: str, dim: int) -> tuple[list[ToldAxis], bool]:
    """What cuts one dimension, and whether the token stands for one at all."""
    found = _DIM.fullmatch(token)
    if found is None:
        raise ValueError(f"{token!r} is no dimension")
    axes: list[ToldAxis] = []
    for cut in filter(None, (found["cuts"] or "").split(",")):
        if ":" in cut:
            axes.append(_of_whole(cut))
        elif cut in _AXES:
            axes.append(ToldAxis(_AXES[cut], "S", dim))
        elif axes and axes[-1].kind == "S":
            axes[-1] = replace(axes[-1], variant=_variant(axes[-1].variant, cut))
        else:
            raise ValueError(f"{cut!r} is no axis; known are {', '.join(_AXES)}")
    if not found["name"] and any(axis.kind == "S" for axis in axes):
        raise ValueError(f"{token!r} cuts a dimension without a name")
    return axes, bool(found["name"])


def _variant(variant: Variant, said: str) -> Variant:
    if said in ("zigzag", "contiguous"):
        return replace(variant, zigzag=said == "zigzag")
    found = _PIECES.fullmatch(said)
    if found is None:
        raise ValueError(f"{said!r} is none of zigzag, contiguous, pieces=2 and no axis")
    if not found["others"]:
        return replace(variant, pieces=(1,) * int(found["number"]))
    return replace(variant, pieces=tuple(map(int, said.removeprefix("pieces=").split("+"))))


def _of_whole(text: str) -> ToldAxis:
    axis, _, kind = text.partition(":")
    if axis not in _AXES or kind not in _WHOLE:
        raise ValueError(f"{text!r} is no <axis>:replicated or <axis>:partial")
    return ToldAxis(_AXES[axis], _WHOLE[kind])
