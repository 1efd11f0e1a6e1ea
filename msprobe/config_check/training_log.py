"""Takes the configuration out of a training log of verl or slime.

verl prints its configuration as one Python literal, slime as Megatron's table of arguments; Ray
puts the actor's name before each line, and lines of other actors in between.
"""

from __future__ import annotations

import ast
import math
import re
from pathlib import Path
from typing import Any

from msprobe.errors import CheckError
from msprobe_core.format.bounded import literal_of, parse_expression, parse_literal

SUFFIXES = (".log", ".txt")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_ACTOR = re.compile(r"^\((?P<actor>[\w.:<>]+ pid=\d+(?:, ip=[\w.:]+)?)\)(?: \[repeated[^\]]*\])? ?")
_BEGIN = "{'actor_rollout_ref'"
_ARGUMENT = re.compile(r"^\s*(?P<name>[\w\-.]+) \.{2,} ?(?P<value>.*)$")
_TABLE_BEGIN = re.compile(r"^-+ (?:\w+ )?arguments -+$")
_TABLE_END = re.compile(r"^-+ end of (?:\w+ )?arguments -+$")


def verl_configuration(log: Path) -> dict[str, Any]:
    """The last configuration in the log; raises CheckError when there is none or it breaks off."""
    lines = _lines(log)
    begins = [number for number, (_, text) in enumerate(lines) if _BEGIN in text]
    if not begins:
        raise CheckError(f"{log}: no configuration of verl in it", f"it begins with {_BEGIN}")
    first = begins[-1]
    actor = lines[first][0]
    own = [text for who, text in lines[first:] if who == actor]
    own[0] = own[0][own[0].index(_BEGIN) :]
    literal = _balanced("\n".join(own))
    if literal is None:
        raise CheckError(f"{log}: its last configuration breaks off", "give the whole log")
    try:
        value = _value(parse_expression(literal))
    except (ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise CheckError(
            f"{log}: line {first + 1}: the configuration is no Python literal ({reason})",
            "other output stands between its lines",
        ) from error
    return dict(value)


def slime_configuration(log: Path) -> dict[str, Any]:
    """The last table of arguments in the log; raises CheckError when there is none."""
    arguments: dict[str, Any] = {}
    table: tuple[str, dict[str, Any]] | None = None
    for actor, text in _lines(log):
        if _TABLE_BEGIN.match(text.strip()):
            table = (actor, {})
        elif table is not None and table[0] == actor:
            if _TABLE_END.match(text.strip()):
                arguments, table = table[1], None
            elif argument := _ARGUMENT.match(text):
                table[1][argument["name"]] = _scalar(argument["value"].strip())
    if not arguments:
        raise CheckError(
            f"{log}: no whole table of arguments in it",
            "it stands between lines `--- arguments ---` and `--- end of arguments ---`",
        )
    return arguments


def _lines(log: Path) -> list[tuple[str, str]]:
    """(actor, text) of each line, the actor empty where Ray names none."""
    if not log.exists():
        raise CheckError(f"{log}: no such file", "give the training log")
    if log.suffix not in SUFFIXES:
        raise CheckError(f"{log}: is no log by its name", f"give a {' or '.join(SUFFIXES)} file")
    if not log.is_file():
        raise CheckError(f"{log}: is no file", "give the training log")
    text = _COLOUR.sub("", log.read_text(encoding="utf-8", errors="replace"))
    lines = []
    for line in text.splitlines():
        match = _ACTOR.match(line)
        lines.append(("", line) if match is None else (match["actor"], line[match.end() :]))
    return lines


def _balanced(text: str) -> str | None:
    """The text up to the bracket that closes its first one, None when there is none."""
    depth, quote, escaped = 0, "", False
    for position, letter in enumerate(text):
        if escaped:
            escaped = False
        elif quote:
            escaped = letter == "\\"
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter in "{[(":
            depth += 1
        elif letter in "}])":
            depth -= 1
            if depth == 0:
                return text[: position + 1]
    return None


def _value(node: ast.expr) -> Any:
    """A literal with, beside what Python allows, nan, inf and calls, which become their text."""
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return {str(_value(key)): _value(value) for key, value in pairs if key is not None}
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return [_value(element) for element in node.elts]
    if isinstance(node, ast.Name):
        return {"nan": math.nan, "inf": math.inf}.get(node.id, node.id)
    if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Name):
        return -math.inf if ast.unparse(node) == "-inf" else ast.unparse(node)
    try:
        return literal_of(node)
    except ValueError:
        return ast.unparse(node)


def _scalar(text: str) -> Any:
    if text in ("True", "False", "None"):
        return parse_literal(text)
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text
