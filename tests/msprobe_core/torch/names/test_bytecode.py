"""How a call was written, read from the caller's code, on whichever Python runs the tests."""

from __future__ import annotations

import sys
from typing import Any

from msprobe_core.torch.names.bytecode import (
    CallShape,
    base_of,
    call_shape,
    callee_at,
    operands_at,
    operator_at,
)


class Spy:
    """Notes how each of its methods was reached."""

    def __init__(self) -> None:
        self.seen: list[Any] = []
        self.shape: CallShape | None = None

    def operator(self, *_: object) -> Spy:
        frame = sys._getframe(1)
        code, offset = frame.f_code, frame.f_lasti
        symbol = operator_at(code, offset)
        sides: tuple[Any, ...] = ()
        if symbol is not None and not symbol.startswith("u"):
            found = operands_at(code, offset)
            assert found is not None
            sides = tuple(side[0].argval for side in found)
        self.seen.append((symbol, *sides))
        return self

    __add__ = __radd__ = __mul__ = __rmul__ = __iadd__ = __gt__ = __neg__ = operator

    def method(self, *_: object, **__: object) -> None:
        frame = sys._getframe(1)
        code, offset = frame.f_code, frame.f_lasti
        self.shape = call_shape(code, offset)
        self.seen.append((callee_at(code, offset), base_of(code, offset, "method")))


def test_operators_and_their_operands() -> None:
    x, n = Spy(), 3
    left, right = n, x
    _ = left * right
    _ = right * left
    _ = 2.0 * x
    _ = x * 2.0
    _ = -x
    _ = (n * 2 + 1) + x
    _ = x > n
    x += n
    assert x.seen == [
        ("*", "left", "right"),
        ("*", "right", "left"),
        ("*", 2.0, "x"),
        ("*", "x", 2.0),
        ("u-",),
        ("+", "n", "x"),
        (">", "x", "n"),
        ("+=", "x", "n"),
    ]


def test_shapes_of_calls() -> None:
    x, n = Spy(), 3
    x.method(n, n)
    assert x.shape == CallShape(2, ())
    x.method(n, alpha=n)
    assert x.shape == CallShape(1, ("alpha",))
    x.method(*[n])
    assert x.shape is None
    assert x.seen == [("method", ("name", "x"))] * 2 + [(None, ("name", "x"))]


def test_a_bare_name_is_no_attribute() -> None:
    x = Spy()
    method = x.method
    method(1)
    assert x.seen == [("", ("bare", "method"))]
