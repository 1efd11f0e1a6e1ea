"""Records functions that users register: custom operators of their own packages."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from msprobe_core.capture.replacing import Replacements
from msprobe_core.errors import LifecycleError
from msprobe_core.torch.names.api_table import Api
from msprobe_core.torch.watch.calls import CallMode


class CustomApis:
    """The functions that the user registered."""

    def __init__(self) -> None:
        self._registered: dict[tuple[int, str], tuple[object, str, str]] = {}

    def register(self, module: object, api: str, api_prefix: str | None) -> None:
        """Record calls of `module.api` as `<prefix>.<api>`. Raises LifecycleError."""
        if not callable(getattr(module, api, None)):
            raise LifecycleError(
                f"register_custom_api: {_name_of(module)} has no function {api!r}; check the name"
            )
        prefix = api_prefix or _name_of(module)
        self._registered[id(module), api] = (module, api, prefix)

    def unregister(self, module: object, api: str) -> None:
        """Record the function no longer. Raises LifecycleError when it is not registered."""
        if self._registered.pop((id(module), api), None) is None:
            raise LifecycleError(
                f"restore_custom_api: {_name_of(module)}.{api} is not registered; "
                "call register_custom_api first"
            )

    def wrap(self, mode: CallMode, replaced: Replacements) -> None:
        """Wrap the registered functions."""
        for module, api, prefix in self._registered.values():
            original = getattr(module, api)
            replaced.put(module, api, recorded(mode, original, Api(prefix, api, True)))


class CustomCalls:
    """Wraps the registered functions for the time of a recording."""

    def __init__(self, apis: CustomApis, mode: CallMode) -> None:
        self._apis, self._mode = apis, mode
        self._replaced = Replacements()

    def start(self) -> None:
        """Wrap those that are registered by now."""
        if not self._replaced:
            self._apis.wrap(self._mode, self._replaced)

    def stop(self) -> None:
        """Put the originals back."""
        self._replaced.restore()


def recorded(mode: CallMode, original: Callable[..., Any], api: Api) -> Callable[..., Any]:
    """A function that runs `original` and records the call as `api` while the mode is on.

    Whoever kept it beyond the recording has `original` in it.
    """

    @functools.wraps(original)
    def custom(*args: Any, **kwargs: Any) -> Any:
        if mode.is_quiet() or not mode.is_started:
            return original(*args, **kwargs)
        return mode.record(api, original, (args, kwargs), (args, kwargs), sys._getframe(1))

    return custom


def _name_of(module: object) -> str:
    return str(getattr(module, "__name__", type(module).__name__))
