"""Call stacks kept as raw code positions and turned into text once, when they are written.

A stack below a module call is shared by everything that runs inside it, so each call walks only
the frames up to its module.
"""

from __future__ import annotations

import linecache
import os
import sys
import threading
from pathlib import Path
from types import CodeType, FrameType

from msprobe_core.values.text import quoted

_OWN = f"{Path(__file__).parent.parent}{os.sep}"  # the folder of this package
_PACKAGES = ("msprobe_core", "msprobe")
StackKey = tuple[int, ...]
"""Identity of the code and offset in it, for each frame; at the end the stack below, or -1."""


def users_frame() -> FrameType | None:
    """The frame of the code that has called this package; None where there is none."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _is_of_package(frame):
        frame = frame.f_back
    return frame


def _is_of_package(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] in _PACKAGES


class StackBook:
    """Interns stacks: equal ones get one number, in one step and in those that follow."""

    def __init__(self) -> None:
        self._numbers: dict[StackKey, int] = {}
        self._codes: dict[int, CodeType] = {}
        self._lines: dict[tuple[int, int], str] = {}
        self._keys: list[StackKey] = []
        self._lock = threading.Lock()
        self._texts_of: dict[int, int] = {}
        self._text_numbers: dict[tuple[str, ...], int] = {}
        self._texts: list[list[str]] = []
        self._by_text: dict[int, int] = {}
        self._json: dict[int, str] = {}

    def capture(self, frame: FrameType | None, base: FrameType | None, base_stack: int) -> int:
        """The number of the stack from `frame` outwards.

        Frames from `base` on are not walked: they are stack number `base_stack` (-1: none).
        """
        key: list[int] = []
        at = frame
        while at is not None and at is not base:
            key += (id(at.f_code), at.f_lasti)
            at = at.f_back
        key.append(base_stack if at is not None else -1)
        interned = tuple(key)
        number = self._numbers.get(interned)
        if number is None:
            number = self._intern(interned, frame, base)
        return number

    def text_number(self, number: int) -> int:
        """The number of a stack's text: calls that share a line share it."""
        text_number = self._texts_of.get(number)
        if text_number is None:
            lines = tuple(self._frames(number))
            text_number = self._text_numbers.setdefault(lines, len(self._text_numbers))
            if text_number == len(self._texts):
                self._texts.append(list(lines))
            self._texts_of[number] = text_number
        return text_number

    def add_text(self, lines: tuple[str, ...]) -> int:
        """The number of a stack that is known by its text, innermost frame first."""
        with self._lock:
            text_number = self._text_numbers.setdefault(lines, len(self._text_numbers))
            if text_number == len(self._texts):
                self._texts.append(list(lines))
            number = self._by_text.get(text_number)
            if number is None:
                number = self._by_text[text_number] = len(self._keys)
                self._keys.append((-1,))
                self._texts_of[number] = text_number
        return number

    def text(self, text_number: int) -> list[str]:
        """The frames as text, innermost first."""
        return self._texts[text_number]

    def json(self, text_number: int) -> str:
        """The frames as a JSON list, innermost first."""
        known = self._json.get(text_number)
        if known is None:
            quoted_frames = ", ".join(quoted(frame) for frame in self._texts[text_number])
            known = self._json[text_number] = f"[{quoted_frames}]"
        return known

    def __len__(self) -> int:
        return len(self._keys)

    def _frames(self, number: int) -> list[str]:
        lines: list[str] = []
        while number >= 0:
            key = self._keys[number]
            pairs = zip(key[0:-1:2], key[1:-1:2], strict=True)
            lines.extend(self._line(*pair) for pair in pairs if not self._is_ours(pair[0]))
            number = key[-1]
        return lines

    def _is_ours(self, code: int) -> bool:
        """Whether a frame is one of the recording itself, which the run without has not."""
        return self._codes[code].co_filename.startswith(_OWN)

    def _line(self, code: int, offset: int) -> str:
        known = self._lines.get((code, offset))
        if known is None:
            known = self._lines[code, offset] = _frame_text(self._codes[code], offset)
        return known

    def _intern(self, key: StackKey, frame: FrameType | None, base: FrameType | None) -> int:
        while frame is not None and frame is not base:  # held, so that no other gets its identity
            self._codes[id(frame.f_code)] = frame.f_code
            frame = frame.f_back
        with self._lock:
            number = self._numbers.setdefault(key, len(self._keys))
            if number == len(self._keys):
                self._keys.append(key)
        return number


def _frame_text(code: CodeType, offset: int) -> str:
    line = _line(code, offset)
    try:
        source = linecache.getline(code.co_filename, line).strip()
    except Exception:  # the loader of a module of the user's may raise anything
        source = ""
    return f"File {code.co_filename}, line {line}, in {code.co_name}, \n {source}"


def _line(code: CodeType, offset: int) -> int:
    for start, end, line in code.co_lines():
        if start <= offset < end and line is not None:
            return line
    return code.co_firstlineno
