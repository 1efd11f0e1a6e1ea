"""Decodes the JSON files of a dump, whose statistics may be bare NaN and Infinity tokens.

The fast way is msgspec, which refuses those tokens; they are quoted first, and the text form
"nan" is what older dumps hold anyway.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TypeVar

import msgspec

from builder.errors import DumpError

_T = TypeVar("_T")
_NONFINITE = re.compile(rb"(?<=[\s:,\[])(-?Infinity|NaN)(?=[\s,\]}])")


def read_json(path: Path, decoder: msgspec.json.Decoder[_T]) -> _T:
    """Decode one file to the decoder's type.

    Raises DumpError when the file is missing, unreadable, truncated or of another form.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise DumpError(f"{path}: missing; dump again or give the folder that has it") from None
    except OSError as error:
        raise DumpError(f"{path}: {error.strerror}; check the file and its permissions") from error
    return _decode(path, data, decoder)


def _decode(path: Path, data: bytes, decoder: msgspec.json.Decoder[_T]) -> _T:
    quoted = data
    if b"NaN" in data or b"Infinity" in data:
        quoted = _NONFINITE.sub(rb'"\1"', data)
    try:
        return decoder.decode(quoted)
    except msgspec.ValidationError as error:
        raise DumpError(f"{path}: not the form of a dump ({error}); dump it again") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return _decode_again(path, data, decoder, error)


def _decode_again(
    path: Path, data: bytes, decoder: msgspec.json.Decoder[_T], first: Exception
) -> _T:
    # The quoting above can spoil a file in which such a token stands inside a string.
    try:
        exact = json.dumps(json.loads(data, parse_constant=str)).encode()
        return decoder.decode(exact)
    except (ValueError, RecursionError):
        raise DumpError(
            f"{path}: broken or truncated JSON ({first}); dump it again or leave this rank out"
        ) from None
