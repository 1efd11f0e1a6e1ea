"""Whether two configured values mean the same, however each was written down."""

from __future__ import annotations

import math
from typing import Any

from msprobe_core.format.bounded import parse_literal

_TRUE = {"true", "yes", "on"}
_FALSE = {"false", "no", "off"}
_NONE = {"", "none", "null", "~"}
_SAME = 1e-12  # 0.1 + 0.2 is 0.3 to whoever wrote either


def normalised(value: Any) -> Any:
    """The value with its type: texts that spell a number, a truth value, None or a list are one."""
    if isinstance(value, dict):
        return {str(key): normalised(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [normalised(inner) for inner in value]
    return _spelled(value.strip()) if isinstance(value, str) else value


def same(a: Any, b: Any) -> bool:
    """Whether two values mean the same; 1, 1.0 and "1" do, True and 1 do not."""
    return _same(normalised(a), normalised(b))


def same_switch(a: Any, b: Any) -> bool:
    """As `same`, for environment variables that are read as on or off: 1 and true are one."""
    return _same(_switch(normalised(a)), _switch(normalised(b)))


def _spelled(text: str) -> Any:
    lower = text.lower()
    if lower in _TRUE or lower in _FALSE:
        return lower in _TRUE
    if lower in _NONE:
        return None
    try:
        return int(text, 10) if text.lstrip("+-").isdecimal() else float(text)
    except ValueError:
        pass
    if text[:1] in "[({":
        try:
            return normalised(parse_literal(text))
        except (ValueError, RecursionError):
            return text
    return text


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, bool) or isinstance(b, bool):
        return isinstance(a, bool) and isinstance(b, bool) and a == b
    if isinstance(a, int | float) and isinstance(b, int | float):
        return a == b or math.isclose(a, b, rel_tol=_SAME) or (a != a and b != b)  # noqa: PLR0124 - NaN
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(_same(x, y) for x, y in zip(a, b, strict=True))
    return bool(type(a) is type(b) and a == b)


def _switch(value: Any) -> Any:
    return bool(value) if value in (0, 1) else value
