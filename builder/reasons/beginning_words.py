"""Where a difference begins, as headlines say it, English and Chinese side by side.

`in` what is called otherwise or computes otherwise; `before` a module, and `before_call` a call in
one, that only reads what differs. Behind the point what it is in: a module (or a line of the
script), its backward pass, or the optimizer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from builder.reasons.phrase_words import Words

How: TypeAlias = Literal["in", "before", "before_call"]
Where: TypeAlias = Literal["module", "backward", "optimizer"]

BEGINNINGS: Mapping[str, Words] = {
    "in.module": Words("It begins in {module}", "差异始于 {module}"),
    "in.backward": Words(
        "It begins in the backward pass of {module}", "差异始于 {module} 的反向过程"
    ),
    "in.optimizer": Words("It begins in the optimizer", "差异始于优化器"),
    "before.module": Words("It begins before {module}", "起点在 {module} 之前"),
    "before.backward": Words(
        "It begins before the backward pass of {module}", "起点在 {module} 的反向过程之前"
    ),
    "before.optimizer": Words("It begins before the optimizer", "起点在优化器之前"),
    "before_call.module": Words(
        "It begins before {call} in {module}", "起点在 {module} 中的 {call} 之前"
    ),
    "before_call.backward": Words(
        "It begins before {call} in the backward pass of {module}",
        "起点在 {module} 的反向过程中的 {call} 之前",
    ),
    "before_call.optimizer": Words(
        "It begins before {call} in the optimizer", "起点在优化器中的 {call} 之前"
    ),
}


def how_it_begins(*, is_fed: bool, is_call: bool) -> How:
    """Before what is only fed otherwise; a call is named by itself, a module by its path."""
    if not is_fed:
        return "in"
    return "before_call" if is_call else "before"
