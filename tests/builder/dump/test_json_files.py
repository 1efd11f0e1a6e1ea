"""Files with bare NaN and Infinity are read; broken ones are an error that names them."""

from __future__ import annotations

import json
import math
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builder.dump.json_files import FormError, read_json
from builder.errors import DumpError

ANY = msgspec.json.Decoder()
STORED = st.recursive(
    st.none()
    | st.booleans()
    | st.floats()
    | st.sampled_from(
        ["NaN", "a, NaN, b", "c: NaN", ":-Infinity", "[Infinity]", "-Infinity ", "plain"]
    ),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner),
)


def plain(content: object) -> object:
    """What a reader is to find: the tokens as text."""
    if isinstance(content, float) and not math.isfinite(content):
        return "NaN" if math.isnan(content) else "Infinity" if content > 0 else "-Infinity"
    if isinstance(content, list):
        return [plain(part) for part in content]
    if isinstance(content, dict):
        return {key: plain(part) for key, part in content.items()}
    return content


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STORED, st.sampled_from([None, 1]))
def test_tokens_become_text_and_text_stays(
    tmp_path: Path, content: object, indent: int | None
) -> None:
    path = tmp_path / "dump.json"
    path.write_text(json.dumps(content, indent=indent))
    assert read_json(path, ANY) == plain(content)


@pytest.mark.parametrize("text", ["", "{", '{"a": nan}', "\x00", "[1, NaN"])
def test_what_is_no_json_names_the_file(tmp_path: Path, text: str) -> None:
    path = tmp_path / "dump.json"
    path.write_text(text)
    with pytest.raises(DumpError, match=r"dump\.json: broken"):
        read_json(path, ANY)


def test_bytes_that_are_no_text_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "dump.json"
    path.write_bytes(b'{"a": "\xff\xfe", "b": NaN}')
    with pytest.raises(DumpError, match=r"dump\.json: broken"):
        read_json(path, ANY)


def test_json_of_another_form_is_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "dump.json"
    path.write_text('{"a": [NaN]}')
    with pytest.raises(FormError, match="not the form"):
        read_json(path, msgspec.json.Decoder(dict[str, int]))


def test_a_missing_file_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(DumpError, match="missing; correct the path, or dump again"):
        read_json(tmp_path / "dump.json", ANY)
