"""JSON text of plain values, made by hand: it is the dumper's hottest path.

NaN and infinities are bare tokens, as the dump format has them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import isfinite, isnan
from struct import pack

_ESCAPED = json.encoder.encode_basestring  # keeps non-ASCII text readable
_LARGEST = (2 - 2**-23) * 2.0**127  # of float32


def number(value: float | bool | None) -> str:
    """A JSON number, `true`, `false`, `null`, or one of the tokens NaN, Infinity, -Infinity."""
    if value is None:
        return "null"
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, int):
        return int.__repr__(value)
    if isfinite(value):
        return float.__repr__(value)
    if isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


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


def sketch_text(projections: Sequence[float]) -> str:
    """Projections as a JSON member: little-endian float32 in hexadecimal digits.

    What float32 cannot hold becomes the largest number it has.
    """
    try:
        packed = pack("<8f", *projections)
    except OverflowError:
        packed = pack("<8f", *(min(max(x, -_LARGEST), _LARGEST) for x in projections))
    return f', "sketch": "{packed.hex()}"'
