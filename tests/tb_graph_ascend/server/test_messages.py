"""The messages have the fields that the interface expects, by name, in both directions."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from builder.match.manual_file import MappedPair
from builder.results import records, shards, trace
from tb_graph_ascend.server import build_messages, drawing, messages
from tb_graph_ascend.view import answer, rank_strip

API = Path(__file__).parents[3] / "tb_graph_ascend" / "frontend" / "src" / "api"
STRUCTS: dict[str, type[msgspec.Struct]] = {
    "Database": messages.DatabaseAnswer,
    "Path": records.NodePath,
    "MappedPair": MappedPair,
    "Failure": messages.Failure,
    "Answer": messages.StandingAnswer,
    "Flow": records.NodeFlow,
    "MappingResult": messages.MappingResult,
}
MODULES = (records, trace, messages, build_messages, drawing, answer, rank_strip, shards)


def interfaces() -> dict[str, set[str]]:
    whole = "\n".join(file.read_text(encoding="utf-8") for file in sorted(API.glob("*types.ts")))
    text = re.sub(r"/\*.*?\*/", "", whole, flags=re.DOTALL)
    found = {}
    for name, body in re.findall(r"export interface (\w+) \{(.*?)\n\}", text, flags=re.DOTALL):
        # Types written in place have fields of their own, which are compared nowhere.
        flat = re.sub(r"\{[^{}]*\}", "object", body)
        found[name] = set(re.findall(r"^\s*(\w+)\??:", flat, flags=re.MULTILINE))
    return found


def struct_of(name: str) -> type[msgspec.Struct]:
    known = STRUCTS.get(name)
    if known is not None:
        return known
    return next(getattr(module, name) for module in MODULES if hasattr(module, name))


# A reason's arguments depend on its code.
@pytest.mark.parametrize("name", sorted(interfaces().keys() - {"Reason"}))
def test_fields_are_those_of_the_interface(name: str) -> None:
    assert set(struct_of(name).__struct_fields__) == interfaces()[name]
