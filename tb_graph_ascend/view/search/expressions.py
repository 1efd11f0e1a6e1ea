"""Regular expressions that anybody may send: compiled and matched within limits of work.

RE2 matches in time linear in the text, whatever the expression, refuses one whose automaton takes
more memory than it is given, and lets other threads run meanwhile. An engine that backtracks needs
a clock for the first and has nothing for the second: seventeen letters took it gigabytes.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from builder.errors import ExpressionError

if TYPE_CHECKING:
    import re2

    from tb_graph_ascend.view.search.shapes import Bools, Indices

LONGEST_SECONDS = 3.0
# An expression for names takes a few KiB; the most that compiles within this takes 20 ms.
_MOST_MEMORY = 1 << 20
# Instructions times bytes between two looks at the clock: some 50 ms where RE2 is slowest, which
# is when the states that it keeps fill the memory (1 to 5 ns for each instruction and byte).
_WORK_AT_ONCE = 10_000_000
# How RE2 says that an expression needs another kind of engine.
_UNSUPPORTED = ("invalid perl operator", "bad repetition operator", "invalid escape sequence: \\")
_TOO_LARGE = ("pattern too large", "invalid repetition size", "expression nests too deeply")


class LineExpression:
    """An expression that is looked for in lines; it never matches over the end of one.

    Raises ExpressionError for text that is none, or whose automaton would be too large.
    """

    def __init__(self, pattern: str, *, case: bool) -> None:
        self._shown = pattern[:100]
        self._compiled(pattern, case=case)  # by itself: a lone `)` must not close the group below
        # What follows a match in its line is part of it: each line is counted once.
        self._lines = self._compiled(f"(?m)(?:{pattern}).*", case=case)
        self._size: int = self._lines.programsize

    def in_lines(self, text: bytes | memoryview, starts: Indices) -> Bools:
        """For each line of a text, by the place of its first byte, whether it matches somewhere.

        Raises ExpressionError when that takes longer than LONGEST_SECONDS.
        """
        hit = np.zeros(len(starts), dtype=bool)
        # Of this thread: a busy machine makes no expression slow.
        deadline = time.thread_time() + LONGEST_SECONDS
        first = 0
        at_once = max(1, _WORK_AT_ONCE // self._size)
        while first < len(starts):
            begin = int(starts[first])
            last = max(first + 1, int(np.searchsorted(starts, begin + at_once)))
            end = int(starts[last]) if last < len(starts) else len(text)
            if (end - begin) > max(at_once, self._most_in_one_line()):
                raise self._too_slow()
            # The line feed at the end would begin one more line.
            found = self._lines.finditer(text[begin : end - 1])
            places = np.array([match.start() for match in found], dtype=np.int64) + begin
            hit[np.searchsorted(starts, places, side="right") - 1] = True
            if time.thread_time() > deadline:
                raise self._too_slow()
            first = last
        return hit

    def _most_in_one_line(self) -> int:
        """Bytes of one line, which is matched in one piece, that fit into the time for all."""
        return _WORK_AT_ONCE * 20 // self._size

    def _too_slow(self) -> ExpressionError:
        return ExpressionError(
            f"{self._shown!r} takes too long",
            "simplify it, or search for plain text",
            {"code": "too_slow", "pattern": self._shown},
        )

    def _compiled(self, pattern: str, *, case: bool) -> re2._Regexp:
        try:
            import re2
        except ImportError:
            raise ExpressionError(
                "regular expressions need google-re2, which is not installed",
                "pip install google-re2, or search for plain text",
                {"code": "no_engine"},
            ) from None
        options = re2.Options()
        options.max_mem = _MOST_MEMORY
        options.log_errors = False
        options.never_nl = True
        options.never_capture = True
        options.case_sensitive = case
        try:
            return re2.compile(pattern.encode("utf-8", "replace"), options)
        except re2.error as error:
            raise self._refused(error) from None
        finally:
            re2.purge()  # its cache would keep the states of 128 expressions

    def _refused(self, error: Exception) -> ExpressionError:
        said = error.args[0] if error.args else ""
        text = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
        told = {"pattern": self._shown, "error": text[:200]}
        if text.startswith(_TOO_LARGE):
            return ExpressionError(
                f"{self._shown!r} is too large for an expression ({text[:200]})",
                "repeat less, or search for plain text",
                {"code": "too_large", **told},
            )
        if text.startswith(_UNSUPPORTED):
            return ExpressionError(
                f"{self._shown!r} holds what RE2 has not ({text[:200]}): look-ahead, look-behind, "
                "references to groups and possessive repeats",
                "write it without, or search for plain text",
                {"code": "unsupported", **told},
            )
        return ExpressionError(
            f"{self._shown!r} is no regular expression ({text[:200]})",
            "escape special characters with \\, or search for plain text",
            {"code": "no_expression", **told},
        )
