"""Decodes the JSON files of a dump, whose statistics may be bare NaN and Infinity tokens.

The fast way is msgspec, which refuses those tokens; they are quoted where it does, and the text
form "nan" is what older dumps hold anyway.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TypeVar

import msgspec

from builder.errors import DumpError
from msprobe_core.format import DUMP_FILE
from msprobe_core.format.regular_file import IrregularFileError, read_regular

_T = TypeVar("_T")
# No look-behind: it would be tried at every byte of the file.
_NONFINITE = re.compile(rb"([\s:,\[])(-Infinity|Infinity|NaN)(?=[\s,\]}])")


class FormError(DumpError):
    """A file that is JSON but not of the form that was asked for."""


def read_json(path: Path, decoder: msgspec.json.Decoder[_T]) -> _T:
    """Decode one file to the decoder's type.

    Raises DumpError when the file is missing, unreadable or truncated, FormError when it is
    another thing than the decoder expects.
    """
    try:
        data = read_regular(path)
    except FileNotFoundError:
        raise DumpError(f"{path}: missing", "correct the path, or dump again") from None
    except IsADirectoryError:
        raise DumpError(f"{path}: is a folder", f"give a file in it, such as {DUMP_FILE}") from None
    except IrregularFileError as error:
        raise DumpError(f"{path}: {error.strerror}", "copy its content into a file") from None
    except OSError as error:
        raise DumpError(
            f"{path}: {error.strerror}", "check the file and its permissions"
        ) from error
    try:
        return _decode(data, decoder)
    except msgspec.ValidationError as error:
        raise FormError(f"{path}: not the form of a dump ({error})", "dump it again") from None
    except (ValueError, RecursionError) as error:
        raise DumpError(
            f"{path}: broken or truncated JSON ({error})", "dump it again or leave this rank out"
        ) from None


def _decode(data: bytes, decoder: msgspec.json.Decoder[_T]) -> _T:
    try:
        return decoder.decode(data)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        if b"NaN" not in data and b"Infinity" not in data:
            raise
    for quoted in (_quote_members, _quote_all):
        try:
            return decoder.decode(quoted(data))
        except msgspec.ValidationError:
            raise
        except msgspec.DecodeError:
            continue
    # The quoting spoils a file in which such a token stands inside a string.
    return decoder.decode(json.dumps(json.loads(data, parse_constant=str)).encode())


def _quote_members(data: bytes) -> bytes:
    # Where a statistic stands; many times as fast as a regular expression, and in a run that went
    # to NaN there are a dozen in every entry.
    for colon in (b": ", b":"):
        for token in (b"NaN", b"Infinity", b"-Infinity"):
            data = data.replace(colon + token, colon + b'"' + token + b'"')
    return data


def _quote_all(data: bytes) -> bytes:
    return _NONFINITE.sub(rb'\1"\2"', data)
