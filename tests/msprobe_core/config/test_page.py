"""docs/configuration.md is what the schema says, and the schema is what the code has."""

from __future__ import annotations

import json
from dataclasses import MISSING, fields
from typing import Any

import pytest

from msprobe_core.config import Config, read_config
from msprobe_core.config.load_section import LoadConfig
from msprobe_core.config.page import configuration_page
from msprobe_core.config.schema import COMMON, FIELDS, LOAD_FIELDS, Field
from tests.msprobe_core.conftest import ROOT

PAGE = ROOT / "docs" / "configuration.md"


def test_the_page_is_what_the_schema_says() -> None:
    command = "python -m msprobe_core.config.page > docs/configuration.md"
    assert PAGE.read_text(encoding="utf-8") == configuration_page(), f"run {command}"


def test_every_setting_is_in_the_schema() -> None:
    names = {field.name for field in FIELDS}
    assert names == {field.name for field in fields(Config)} - {"load", "graft", "source"}
    assert {field.name for field in LOAD_FIELDS} == {field.name for field in fields(LoadConfig)}
    page = configuration_page()
    assert all(f"\n| `{name}` |" in page for name in names)


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.name)
def test_defaults_are_those_of_the_code(field: Field) -> None:
    (member,) = (each for each in fields(Config) if each.name == field.name)
    assert member.default is not MISSING
    default: Any = member.default
    if isinstance(default, (tuple, frozenset)):
        default = list(default)
    told = None if field.default == "not set" else json.loads(field.default)
    assert default == told


def test_the_defaults_may_be_written_out(tmp_path: Any) -> None:
    common = {
        f.name: json.loads(f.default)
        for f in FIELDS
        if COMMON in f.sections and f.default[0] in '"[ft0'
    }
    path = tmp_path / "config.json"
    path.write_text(json.dumps(common), encoding="utf-8")
    written, default = read_config(path), read_config(None)
    assert {f.name: getattr(written, f.name) for f in fields(Config) if f.name != "source"} == {
        f.name: getattr(default, f.name) for f in fields(Config) if f.name != "source"
    }
