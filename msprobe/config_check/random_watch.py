"""Counts the calls that draw random numbers or set a seed, by function and place in the script."""

from __future__ import annotations

import functools
import linecache
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from msprobe.config_check.redaction import redacted_text
from msprobe_core.capture.replacing import Replacements

_OWN = str(Path(__file__).resolve().parent)
_DEEPEST = 12  # frames of a stack that tell places apart
# Functions by the module that holds them; what a module lacks is passed over.
_FUNCTIONS = {
    "random": "seed random randint randrange uniform choice choices sample shuffle gauss "
    "normalvariate getrandbits triangular betavariate expovariate",
    "numpy.random": "seed rand randn randint random random_sample uniform normal choice shuffle "
    "permutation standard_normal beta binomial poisson default_rng",
    "torch": "manual_seed seed initial_seed set_rng_state rand rand_like randn randn_like randint "
    "randint_like randperm normal bernoulli multinomial poisson dropout",
    "torch.cuda": "manual_seed manual_seed_all seed seed_all set_rng_state",
    "torch.nn.functional": "dropout dropout1d dropout2d dropout3d alpha_dropout "
    "feature_alpha_dropout rrelu gumbel_softmax",
    "torch.nn.init": "uniform_ normal_ trunc_normal_ xavier_uniform_ xavier_normal_ "
    "kaiming_uniform_ kaiming_normal_ orthogonal_ sparse_",
    "torch.Tensor": "normal_ uniform_ random_ bernoulli_ exponential_ cauchy_ log_normal_ "
    "geometric_ bernoulli multinomial",
}
Place = tuple[tuple[str, int, str], ...]  # (file, line, function), the caller first


class RandomWatch:
    """Wraps the functions for the whole process; `started` until it is stopped.

    A random function that another one calls is counted with the outer one alone.
    """

    def __init__(self) -> None:
        self.started = False
        self._counts: dict[str, dict[Place, int]] = {}
        self._replaced = Replacements()
        self._inside = threading.local()

    def start(self) -> None:
        """Begin to count; a second call changes nothing."""
        if self.started:
            return
        self.started = True
        for module, names in _FUNCTIONS.items():
            owner = _owner(module)
            for name in names.split() if owner is not None else ():
                original = getattr(owner, name, None)
                if callable(original):
                    counted = self._counted(f"{module}.{name}", original)
                    self._replaced.put(owner, name, counted)

    def stop(self) -> None:
        """Put the functions back and count no more."""
        self.started = False
        self._replaced.restore()

    def calls(self) -> dict[str, list[dict[str, Any]]]:
        """Counts and stacks by function, as the pack holds them."""
        return {
            function: [
                {"count": count, "stack": [_frame_text(*frame) for frame in place]}
                for place, count in places.items()
            ]
            for function, places in self._counts.items()
        }

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Do not count on this thread for a while."""
        before = getattr(self._inside, "call", False)
        self._inside.call = True
        try:
            yield
        finally:
            self._inside.call = before

    def _counted(self, function: str, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original, updated=())
        def drawn(*arguments: Any, **named: Any) -> Any:
            if not self.started or getattr(self._inside, "call", False):
                return original(*arguments, **named)
            places = self._counts.setdefault(function, {})
            place = _place(sys._getframe(1))
            places[place] = places.get(place, 0) + 1
            with self.paused():
                return original(*arguments, **named)

        return drawn


def _owner(module: str) -> Any:
    import importlib

    if module == "torch.Tensor":
        module, attribute = "torch", "Tensor"
    else:
        attribute = ""
    try:
        imported = importlib.import_module(module)
    except ImportError:
        return None
    return getattr(imported, attribute) if attribute else imported


def _place(frame: FrameType | None) -> Place:
    frames: list[tuple[str, int, str]] = []
    while frame is not None and len(frames) < _DEEPEST:
        code = frame.f_code
        if not code.co_filename.startswith((_OWN, "<frozen")):
            frames.append((code.co_filename, frame.f_lineno, code.co_name))
        frame = frame.f_back
    return tuple(frames)


def _frame_text(file: str, line: int, function: str) -> str:
    code = linecache.getline(file, line).strip()
    return redacted_text(f"File {file}, line {line}, in {function}, {code}")
