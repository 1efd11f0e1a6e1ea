"""What a reason says, as files and messages have it."""

from __future__ import annotations

from typing import Any

import msgspec

from builder.reasons import Fact


def facts(reason: Fact) -> dict[str, Any]:
    """The code and the fields of a reason by their names."""
    found: dict[str, Any] = msgspec.to_builtins(reason)
    return found
