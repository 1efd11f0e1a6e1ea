"""Hyper-parameters of a launch script: `--name value` of its torchrun line, variables filled in.

The script is read, never run: what only a shell could compute stays as it is written.
"""

from __future__ import annotations

import ast
import operator
import re
import shlex
from collections.abc import Callable, Iterator, Mapping

from msprobe.errors import CheckError
from msprobe_core.format.bounded import parse_expression

Value = str | bool | list[str]
Variables = dict[str, str | list[str]]  # a list is an array

_LAUNCHERS = ("torchrun", "msrun", "deepspeed", "accelerate", "mpirun")
_LAUNCHER_MODULES = (
    "torch.distributed.launch",
    "torch.distributed.run",
    "accelerate.commands.launch",
)
_ARRAY = re.compile(
    r"(?:export\s+|local\s+|declare\s+(?:-\w+\s+)*)?(\w+)(\+?)=\((.*)\)$", re.DOTALL
)
_ASSIGNMENT = re.compile(r"(\w+)(\+?)=(.*)$", re.DOTALL)
_DECLARING = ("export", "local", "declare", "readonly", "typeset")
# Brackets three deep, closed again.
_BALANCED = r"(?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*"
_REFERENCE = re.compile(
    r"\$\{(?P<braced>\w+)(?P<array>\[[@*]\])?(?P<default>:?-[^}]*)?\}|\$(?P<plain>\w+)"
    r"|\$\(\((?P<sum>" + _BALANCED + r")\)\)"
)
# What stands for a value, blanks and all: it is one word of its statement.
_SUBSTITUTION = re.compile(r"\$\(" + _BALANCED + r"\)|`[^`]*`")
_BLANK, _GLUE = re.compile(r"\s"), "\x1f"
_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda a, b: (abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1),  # to zero, in C
    ast.Mod: lambda a, b: abs(a) % abs(b) * (-1 if a < 0 else 1),
    ast.LShift: lambda a, b: a << min(b, 64),
    ast.RShift: operator.rshift,
    ast.Pow: lambda a, b: a ** min(b, 64),
}
_SIGNS: dict[type[ast.unaryop], Callable[[int], int]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}
_LARGEST = 1 << 63  # the shell computes in 64 bits
_MOST_LETTERS = 1 << 20  # of a statement, once its variables are filled in
_NEGATIVE = re.compile(r"-[\d.][\w.+-]*")
_END_OF_COMMAND = {"|", "||", "&", "&&", ";", ">", ">>", "2>&1", "<"}


def hyper_parameters(script: str, environment: Mapping[str, str]) -> dict[str, Value]:
    """Flags of the launch commands by name; one without a value is True, several values a list.

    `environment` fills variables that the script itself does not set.
    """
    variables: Variables = dict(environment)
    flags: dict[str, Value] = {}
    for statement in _statements(script):
        if array := _ARRAY.match(statement):
            _extend(variables, *array.groups())
        elif assignments := _assignments(statement):
            for name, more, value in assignments:
                _assign(variables, name, more, value)
        else:
            words = _words(_filled(statement, variables))
            if _is_launch(words):
                flags |= _flags(words)
    return flags


def _assignments(statement: str) -> list[tuple[str, str, str]]:
    """(name, `+` or nothing, value) of a statement that only assigns, none of any other."""
    words = _words(statement)
    if words and words[0] in _DECLARING:
        words = [word for word in words[1:] if not word.startswith("-")]
    matches = [_ASSIGNMENT.match(word) for word in words]
    return [(m[1], m[2], m[3]) for m in matches if m is not None] if all(matches) else []


def _statements(script: str) -> Iterator[str]:
    """Commands of the script without comments; quotes, brackets and backslashes join lines."""
    text = script.replace("\\\r\n", " ").replace("\\\n", " ")
    quote, depth, start = "", 0, 0
    pieces: list[str] = []
    position = 0
    while position < len(text):
        letter = text[position]
        if quote:
            quote = "" if letter == quote and text[position - 1] != "\\" else quote
        elif letter in "'\"":
            quote = letter
        elif letter == "#" and (position == 0 or text[position - 1].isspace()):
            pieces.append(text[start:position])
            end = text.find("\n", position)
            start = position = len(text) if end < 0 else end
            continue
        elif letter in "()":
            depth = max(0, depth + (1 if letter == "(" else -1))
        elif letter in "\n;" and depth == 0:
            pieces.append(text[start:position])
            start = position + 1
            yield "".join(pieces).strip()
            pieces = []
        position += 1
    yield "".join([*pieces, text[start:]]).strip()


def _words(statement: str) -> list[str]:
    glued = _SUBSTITUTION.sub(lambda match: _BLANK.sub(_GLUE, match[0]), statement)
    try:
        words = shlex.split(glued)
    except ValueError:  # a quote that never closes
        words = re.split(r"[ \t\r\n]+", glued.strip())
    return [word.replace(_GLUE, " ") for word in words]


def _assign(variables: Variables, name: str, more: str, value: str) -> None:
    before = variables.get(name, "") if more else ""
    text = before if isinstance(before, str) else shlex.join(before)
    variables[name] = text + _filled(value, variables)


def _extend(variables: Variables, name: str, more: str, items: str) -> None:
    before = variables.get(name, []) if more else []
    known = [before] if isinstance(before, str) else before
    variables[name] = [*known, *_words(_filled(items, variables))]


def _filled(text: str, variables: Variables) -> str:
    room = _MOST_LETTERS

    def fill(match: re.Match[str]) -> str:
        nonlocal room
        value = value_of(match)
        room -= len(value)  # before they are put together: `B=$A$A` doubles with each line
        if room < 0:
            raise CheckError(
                f"{match[0][:100]}: variables grow to more than {_MOST_LETTERS >> 20} MiB",
                "give a script that a person wrote",
            )
        return value

    def value_of(match: re.Match[str]) -> str:
        if match["sum"] is not None:
            return _computed(_filled(match["sum"], variables), match[0], variables)
        name = match["braced"] or match["plain"]
        value = variables.get(name)
        if value is None or (value == "" and (match["default"] or "").startswith(":")):
            default = match["default"]
            return match[0] if default is None else default.lstrip(":")[1:]
        return value if isinstance(value, str) else shlex.join(value)

    filled = re.sub(r'"(\$\{\w+\[[@*]\]\})"', r"\1", text)  # "${ARGS[@]}" is its words
    return _REFERENCE.sub(fill, filled)


def _computed(expression: str, written: str, variables: Variables) -> str:
    """The value of whole-number arithmetic; anything else stays as it is written."""
    names = {name: value for name, value in variables.items() if isinstance(value, str)}
    numbers = re.sub(r"[A-Za-z_]\w*", lambda match: names.get(match[0], match[0]), expression)
    try:
        return str(_number(parse_expression(numbers.strip())))
    except (ValueError, ZeroDivisionError, RecursionError):
        return written


def _number(node: ast.expr) -> int:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        number = _OPERATORS[type(node.op)](_number(node.left), _number(node.right))
        if abs(number) < _LARGEST:
            return number
    if isinstance(node, ast.UnaryOp) and type(node.op) in _SIGNS:
        return _SIGNS[type(node.op)](_number(node.operand))
    raise ValueError("not whole-number arithmetic")


def _is_launch(words: list[str]) -> bool:
    programs = [word.rpartition("/")[2] for word in words]
    if any(program in _LAUNCHERS for program in programs):
        return True
    python = next((i for i, p in enumerate(programs) if re.fullmatch(r"python[\d.]*", p)), None)
    if python is None:
        return False
    rest = words[python + 1 :]
    return any(word in _LAUNCHER_MODULES or word.endswith(".py") for word in rest) or "-m" in rest


def _flags(words: list[str]) -> dict[str, Value]:
    flags: dict[str, Value] = {}
    name = None
    program = next((word for word in words if word.endswith(".py")), None)
    for word in words:
        if word in _END_OF_COMMAND or word.startswith((">", "2>", "|")):
            break
        if word.startswith("--") and len(word) > 2:
            name, equals, value = word[2:].partition("=")
            flags[name] = value if equals else True
            name = None if equals else name
        elif word is program or (word.startswith("-") and not _NEGATIVE.fullmatch(word)):
            name = None
        elif name is not None:
            flags[name] = _with(flags[name], word)
    return flags


def _with(known: Value, word: str) -> Value:
    if known is True:
        return word
    return [*known, word] if isinstance(known, list) else [str(known), word]
