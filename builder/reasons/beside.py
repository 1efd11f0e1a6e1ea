"""Numbers of two runs beside each other, as long as it takes to see how far they are apart.

The page does the same (`frontend/src/text/numbers.ts`).
"""

from __future__ import annotations

import re
from math import isfinite

_FEWEST = 4
_WHOLE = 1000.0  # beyond it four digits are whole
_MOST = 17  # digits that tell any two doubles apart, as all that there are do more briefly
# Of the difference the first digit at least is right: 0.99999 beside 0.999999 is not beside 1.
_WITHIN = 0.1
# Arguments of so many characters are as short as their four digits: told as they were given.
_BRIEF = 7
_LONG = re.compile(r"-?\d*\.\d{5,}(?:e[-+]?\d+)?", re.IGNORECASE)


def beside(one: float, other: float) -> tuple[str, str]:
    """Two numbers with four digits each, or with as many as show their difference."""
    apart = one - other
    for digits in range(_FEWEST, _MOST):
        shown = rounded(one, digits), rounded(other, digits)
        if not isfinite(apart) or apart == 0:
            return shown
        is_apart = abs(float(shown[0]) - float(shown[1]) - apart) <= _WITHIN * abs(apart)
        if is_apart and not (_is_rounded_up(one, shown[0]) or _is_rounded_up(other, shown[1])):
            return shown
    return str(one), str(other)


def _is_rounded_up(number: float, shown: str) -> bool:
    """Whether a number that is not whole reads as one: 0.999995 as 1 says that nothing decays."""
    return float(shown).is_integer() and not number.is_integer() and abs(number) < _WHOLE


def arguments_beside(one: str, other: str) -> tuple[str, str]:
    """The same of arguments as text; what is no number, and what is short, stays as it was given.

    A number beside what is none has four digits.
    """
    left, right = _number(one), _number(other)
    if left is None or right is None:
        shown = tuple("" if n is None else rounded(n, _FEWEST) for n in (left, right))
    else:
        shown = beside(left, right)
    return _as_given(one, shown[0]), _as_given(other, shown[1])


def rounded(number: float, digits: int) -> str:
    """A number with at most so many digits, without the zeros at its end."""
    if not isfinite(number):
        return str(number)
    size = abs(number)
    if number == 0 or (number == int(number) and size < 1e6):
        return str(int(number))
    if 1e-3 <= size < 1e6:
        text = f"{number:#.{digits}g}"
        if "e" not in text:
            return text.rstrip("0").rstrip(".")
    mantissa, exponent = f"{number:.{digits - 1}e}".split("e")
    return f"{mantissa.rstrip('0').rstrip('.') if '.' in mantissa else mantissa}e{int(exponent)}"


def _as_given(argument: str, shown: str) -> str:
    return shown if len(argument) > _BRIEF and _LONG.fullmatch(argument) else argument


def _number(argument: str) -> float | None:
    try:
        return float(argument)
    except ValueError:
        return None
