"""What `Trends` is given, looked at before anything is followed. Everything raises ConfigError."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from torch import nn

from msprobe_core.errors import ConfigError
from msprobe_core.format.alerts import Alert

OnAlert = str | Callable[[Alert], object]
_LONGEST = 80  # characters of a value that an error repeats


def checked_folder(directory: object) -> Path:
    """The folder of the trends."""
    if not isinstance(directory, str | os.PathLike) or isinstance(directory, bytes):
        raise ConfigError(f"directory is {directory!r}", "give the path of a folder")
    return Path(directory)


def check_model(model: object) -> None:
    """A module, or a list of the parts of a model."""
    parts = list(model) if isinstance(model, Sequence) else [model]
    if not parts or not all(isinstance(part, nn.Module) for part in parts):
        hint = "give a torch.nn.Module, or a list of those that are trained together"
        raise ConfigError(f"model is {_short(model)}", hint)


def checked_optimizer(optimizer: Any) -> Any:
    """An optimizer: anything that has `step` and `param_groups`."""
    if not callable(getattr(optimizer, "step", None)) or not hasattr(optimizer, "param_groups"):
        hint = "give what has `step` and `param_groups`; several are added by `add`"
        raise ConfigError(f"optimizer is {_short(optimizer)}", hint)
    return optimizer


def checked_scaler(scaler: Any) -> Any:
    """A scaler of gradients, or None."""
    if scaler is not None and not callable(getattr(scaler, "get_scale", None)):
        raise ConfigError(f"scaler is {_short(scaler)}", "give what has `get_scale`, or None")
    return scaler


def checked_reaction(on_alert: OnAlert) -> OnAlert:
    """What is done when an alert comes."""
    if callable(on_alert) or on_alert in ("log", "dump"):
        return on_alert
    raise ConfigError(
        f"on_alert is {on_alert!r}", 'give "log", "dump" or a function that takes an alert'
    )


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
