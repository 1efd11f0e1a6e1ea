"""Calls what a monitor does inside the user's training, so that nothing of it gets there."""

from __future__ import annotations

from collections.abc import Callable

import torch

from msprobe_core.report import say
from msprobe_core.torch.record.entries import untraced


def safely(function: Callable[..., object], *args: object) -> None:
    """Call a function of the monitor; what goes wrong is said and the training goes on."""
    try:
        with untraced(), torch.no_grad():
            function(*args)
    except Exception as error:  # a monitor never ends a run
        say(f"monitor: {type(error).__name__}: {error}")
