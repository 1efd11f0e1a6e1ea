"""The text of a path whose bytes are no text in this locale, as a file or an answer can hold it."""

from __future__ import annotations

import os
from pathlib import Path


def path_text(text: str) -> str:
    r"""A text in which each byte that Python could not read is read as UTF-8, or told as \xff."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        # In the C locale every byte above 127 is such a byte, though the name is good UTF-8.
        raw = text.encode("utf-8", "backslashreplace") if _is_odd(text) else _bytes(text)
        return raw.decode("utf-8", "backslashreplace")
    return text


def text_path(text: str) -> Path:
    """The path of such a text, for a locale in which its letters are no letters as well."""
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return Path(os.fsdecode(text.encode("utf-8", "backslashreplace")))
    return Path(text)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _is_odd(text: str) -> bool:
    """Whether a half of a character stands in it that comes from no byte."""
    return any("\ud800" <= letter < "\udc80" or "\udcff" < letter <= "\udfff" for letter in text)
