"""What the arguments are named that a dump numbers by position."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from msprobe_core.format.bounded import parse_json

WRITTEN = Path(__file__).with_suffix(".json")
"""Names by position of PyTorch's calls: build_backend/argument_names.py writes them."""


def argument_name(call: str, value: str) -> str | None:
    """The name of `value`, as `input.6`, of a call, as `Functional.batch_norm.2.forward`.

    None where the call is not known, has signatures that name the position otherwise, or was given
    the argument by name. What a list holds is named by its place there: `normalized_shape[0]`.
    """
    api = call.rsplit(".", 2)[0]
    kind, *places = value.split(".")
    if kind != "input" or not call.endswith(".forward") or not all(p.isdigit() for p in places):
        return None
    names = _names().get(api, [])
    position, *inside = (int(place) for place in places)
    if position >= len(names) or not names[position]:
        return None
    return names[position] + "".join(f"[{place}]" for place in inside)


@lru_cache(maxsize=1)
def _names() -> dict[str, list[str]]:
    """All names; read once, and only where a finding is about an argument."""
    read: dict[str, list[str]] = parse_json(WRITTEN.read_text("utf-8"))
    return read
