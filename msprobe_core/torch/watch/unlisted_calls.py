"""Calls beyond the list of names: operators of a user's namespaces and of torch_npu's.

At risk level ALL so are the rest: indexing, views and operators of all other namespaces. What
returns no tensor is no call of interest and leaves no entry.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

from torch.autograd.function import Function as AutogradFunction

from msprobe_core.capture.replacing import Replacements
from msprobe_core.torch.names.api_table import Api
from msprobe_core.torch.names.unlisted import OPERATORS, unlisted_api
from msprobe_core.torch.watch.calls import CallMode, NameUnlisted
from msprobe_core.torch.watch.npu_functions import NAMESPACE, PREFIX


class AutogradFunctions:
    """Records `apply` of custom autograd functions while recording is on."""

    def __init__(self, mode: CallMode) -> None:
        self._mode = mode
        self._replaced = Replacements()

    def start(self) -> None:
        """Wrap `torch.autograd.Function.apply`."""
        if self._replaced:
            return
        mode, original = self._mode, vars(AutogradFunction)["apply"].__func__

        def apply(cls: type[AutogradFunction], *args: Any, **kwargs: Any) -> Any:
            if mode.is_quiet():
                return original(cls, *args, **kwargs)
            api = Api("Torch", f"autograd.{cls.__name__}", True)
            call = ((cls, *args), kwargs)
            return mode.record(api, original, call, (args, kwargs), sys._getframe(1))

        self._replaced.put(AutogradFunction, "apply", classmethod(apply))

    def stop(self) -> None:
        """Put the original back."""
        self._replaced.restore()


def namer(namespaces: Iterable[str], risk_level: str) -> NameUnlisted:
    """Names calls that are on no list: operators of these namespaces of `torch.ops`, or all.

    Those of torch_npu are always named, as users of msprobe know them.
    """
    wanted = frozenset(namespaces)

    def name(func: Callable[..., Any]) -> Api | None:
        if isinstance(func, OPERATORS):
            namespace, _, operator = str(func).partition(".")
            if namespace == NAMESPACE:
                return Api(PREFIX, operator.partition(".")[0], True)
            if namespace in wanted:
                return Api(namespace, operator.partition(".")[0], True)
        return unlisted_api(func) if risk_level == "ALL" else None

    return name
