"""CRC-32 is zlib's, whoever computes it."""

from __future__ import annotations

import importlib
import sys
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msprobe_core.values import crc


@given(st.binary(max_size=4096))
def test_numbers_are_those_of_zlib(data: bytes) -> None:
    assert crc.crc32(data) == zlib.crc32(data)


def test_zlib_stands_in_where_isal_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "isal.isal_zlib", None)
    try:
        assert importlib.reload(crc).crc32 is zlib.crc32
    finally:
        monkeypatch.undo()
        importlib.reload(crc)
