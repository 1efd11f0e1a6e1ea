"""JSON text of plain values, made by hand: it is the dumper's hottest path.

NaN and infinities are bare tokens, as the dump format has them.
"""

from __future__ import annotations

import json

_ESCAPED = json.encoder.encode_basestring  # keeps non-ASCII text readable


def number(value: float | bool | None) -> str:
    """A JSON number, `true`, `false`, `null`, or one of the tokens NaN, Infinity, -Infinity."""
    if value is None:
        return "null"
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, int):
        return int.__repr__(value)
    if value != value:  # noqa: PLR0124 - the test for NaN
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    return float.__repr__(value)


def quoted(value: str) -> str:
    r"""A JSON string; what UTF-8 has no form for is spelled out, as `\udce9`.

    Such are the bytes of a file name that is not UTF-8, which `os.fsdecode` gives.
    """
    if not value.isascii():
        value = value.encode("utf-8", "backslashreplace").decode("utf-8")
    return str(_ESCAPED(value))


def typed(type_name: str, value: str) -> str:
    """`{"type": …, "value": …}`; `value` is JSON text already."""
    return f'{{"type": "{type_name}", "value": {value}}}'
