"""What a training script keeps beside the weights, told by what it holds and not by a name alone.

A module may be called `scaler` or `optimus`; what is left out is counted and listed all the same.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import torch

# The words that scripts use, whole, with what they put behind: `optimizer_states`, `rng_state`.
_WORDS = re.compile(
    r"(optim(i[sz]er)?s?|(\w+_)?rng|(opt_param_|lr_)?sched(uler)?s?|(grad_)?scaler|dataloader|args)"
    r"(_\w*)?\d*",
    re.IGNORECASE,
)
_LISTED = 3


def is_named_so(key: str) -> bool:
    """Whether a key of a saved training is called what such scripts call what is no weight."""
    return _WORDS.fullmatch(key) is not None


def is_bookkeeping(key: str, value: object) -> bool:
    """Whether a value is, by its name and by what it holds.

    An optimizer's has `state` or `param_groups`, a generator's is bytes, a schedule's has no tensor
    of floats: what is called so and holds weights is a module.
    """
    if not is_named_so(key):
        return False
    if isinstance(value, Mapping) and {"state", "param_groups"} & set(map(str, value)):
        return True
    return not any(tensor.is_floating_point() for _, tensor in all_tensors(value, key))


def all_tensors(value: object, name: str) -> Iterator[tuple[str, torch.Tensor]]:
    """All tensors in objects and lists, with dotted names."""
    if isinstance(value, torch.Tensor):
        yield name, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from all_tensors(inner, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list | tuple):
        for place, inner in enumerate(value):
            yield from all_tensors(inner, f"{name}.{place}" if name else str(place))


def left_out_told(names: Iterable[str]) -> str | None:
    """That tensors were left out, by the keys they lie under; None without any."""
    counts = Counter(name.partition(".")[0] for name in names)
    if not counts:
        return None
    listed = ", ".join(f"{count} under {key}" for key, count in counts.most_common(_LISTED))
    more = f" and {len(counts) - _LISTED} more keys" if len(counts) > _LISTED else ""
    return f"tensors that were taken for no weights and not compared: {listed}{more}"
