"""Records functions of torch that somebody has replaced by functions of their own.

Torch announces only its own functions. A replacement that stands at a recorded name when recording
starts is wrapped for that time and recorded by that name, as one call, whatever it runs inside.
"""

from __future__ import annotations

from msprobe_core.capture.replacing import Replacements
from msprobe_core.torch.names.api_table import Api, has_values
from msprobe_core.torch.names.replaced import Function, replaced_members
from msprobe_core.torch.watch.calls import CallMode
from msprobe_core.torch.watch.custom_functions import recorded


class ReplacedFunctions:
    """The replacements that stand when recording starts; wrapped until it stops."""

    def __init__(self, mode: CallMode, risk_level: str) -> None:
        self._mode, self._risk_level = mode, risk_level
        self._found: list[tuple[Api, object, Function]] = []
        self._replaced = Replacements()

    def find(self) -> None:
        """Look for what stands there now: some thousand names, so once for each recording."""
        if self._replaced:
            return
        self._found = [
            (Api(prefix, name, has_values(name, self._risk_level)), namespace, replacement)
            for prefix, namespace, name, replacement in replaced_members()
        ]

    def start(self) -> None:
        """Wrap what was found, but where it was taken away meanwhile."""
        if self._replaced:
            return
        for api, namespace, replacement in self._found:
            if getattr(namespace, api.name, None) is replacement:
                fresh = recorded(self._mode, replacement, api)
                self._replaced.put(namespace, api.name, fresh)

    def stop(self) -> None:
        """Put the replacements back, but where somebody has put another one meanwhile."""
        self._replaced.restore()
