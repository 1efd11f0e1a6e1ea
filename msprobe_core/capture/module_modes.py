"""Which calls of modules ran in training mode, and which in evaluation mode.

It stands beside `data` in dump.json, as the member `modes`: nearly all calls of a step are in one,
so the others alone are named.
"""

from __future__ import annotations

import json


class ModuleModes:
    """Collects the modes of the calls of one step."""

    def __init__(self) -> None:
        self._training: dict[str, bool | None] = {}

    def note(self, name: str, training: object) -> None:
        """Take the mode of a call by the name of its entry; anything but a truth value is none."""
        self._training[name] = training if isinstance(training, bool) else None

    def text(self) -> str | None:
        """What was noted as the text of a JSON object; None where no mode is known."""
        known = [mode for mode in self._training.values() if mode is not None]
        if not known:
            return None
        most = 2 * sum(known) >= len(known)
        told = {
            "training": most,
            "others": [name for name, mode in self._training.items() if mode is (not most)],
            "unknown": [name for name, mode in self._training.items() if mode is None],
        }
        return json.dumps({member: value for member, value in told.items() if value != []})
