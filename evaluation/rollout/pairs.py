"""The pairs of the suite: how a trainer lays tokens out, and when an engine computes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import torch

from evaluation.rollout.engine import Share
from evaluation.rollout.trainer import VOCABULARY

Layout = Literal["left", "right", "packed", "sequence first"]
PROMPTS, WHOLE = (5, 8, 3, 6), (9, 11, 8, 10)

ATTENTION, FEED_FORWARD = "model.layers.1.self_attn", "model.layers.1.mlp"
NORM = "model.layers.1.post_attention_layernorm"
# By fault: where in the engine the first wrong number is made, and which token has it first:
# every one, the first behind its request's first, or the first that is decoded.
FAULTS: Mapping[str, tuple[str, str]] = {
    "another activation": (FEED_FORWARD, "first"),
    "halves swapped": (FEED_FORWARD, "first"),
    "scale forgotten": (f"{FEED_FORWARD}.down_proj", "first"),
    "epsilon": (NORM, "first"),
    "precision": (NORM, "first"),
    "scale": (ATTENTION, "second"),
    "superfluous rotation": (ATTENTION, "second"),
    "key not turned": (ATTENTION, "second"),
    "first key masked": (ATTENTION, "second"),
    "cache overwritten": (ATTENTION, "decoded"),
    "positions off in decode": ("model.layers.0.self_attn", "decoded"),
}
OF_EXPERTS: Mapping[str, tuple[str, str]] = {
    "halves swapped": (FEED_FORWARD, "first"),
    "routing not replayed": (FEED_FORWARD, "first"),
    "shares not normalised": (FEED_FORWARD, "first"),
    "scale": (ATTENTION, "second"),
    "cache overwritten": (ATTENTION, "decoded"),
}


WITHOUT_DECODING = {name: told for name, told in FAULTS.items() if told[1] != "decoded"}


@dataclass(frozen=True)
class RolloutPair:
    """A trainer's step, and the forward passes of an engine over the same tokens."""

    name: str
    layout: Layout
    passes: tuple[tuple[Share, ...], ...]
    dtype: torch.dtype = torch.float32
    keeps_residual: bool = True
    in_one_step: bool = False
    is_sparse: bool = False
    task: Literal["statistics", "tensor"] = "tensor"
    # Requests whose first tokens another one has left in the cache: of which, and how many.
    cached: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    lines: tuple[int, ...] = ()  # of the later pairs: the requests of the engine's batch
    of_mixture: bool = False  # of the last pairs: a trainer and an engine with a shared expert
    engine_dtype: torch.dtype | None = None  # where it is not the trainer's
    # Of the last pairs: ids that a pass computes behind a share, and rejects; by pass and request.
    drafts: Mapping[tuple[int, int], tuple[int, ...]] = field(default_factory=dict)
    faults: Mapping[str, tuple[str, str]] = field(default_factory=lambda: FAULTS)


def sequences(vocabulary: int = VOCABULARY) -> list[list[int]]:
    """The prompts and answers of all requests; the first two share the beginning of theirs."""
    torch.manual_seed(5)
    drawn = [torch.randint(1, vocabulary, (length,)).tolist() for length in WHOLE]
    drawn[1][:3] = drawn[0][:3]
    return drawn


def _prefill(*requests: int) -> tuple[Share, ...]:
    return tuple((request, 0, PROMPTS[request]) for request in requests)


def _decode(*requests: int) -> tuple[tuple[Share, ...], ...]:
    """Each request a token a pass, until it is done; the engine is not fed a request's last."""
    most = max(WHOLE[r] - PROMPTS[r] for r in requests)
    return tuple(
        tuple(
            (r, PROMPTS[r] + turn, PROMPTS[r] + turn + 1)
            for r in requests
            if PROMPTS[r] + turn < WHOLE[r] - 1
        )
        for turn in range(most - 1)
    )


IN_ORDER = (_prefill(0, 1, 2, 3), *_decode(0, 1, 2, 3))
OTHER_ORDER = (_prefill(2, 0, 3, 1), *_decode(2, 0, 3, 1))
CHUNKED = (
    ((1, 0, 4), (0, 0, 5)),
    ((1, 4, 8), (0, 5, 6), (3, 0, 2)),
    ((1, 8, 9), (0, 6, 7), (3, 2, 6), (2, 0, 3)),
    *_decode(2, 3),
    ((1, 9, 10), (0, 7, 8)),
)
IN_TWO_BATCHES = (_prefill(3, 1), *_decode(3, 1), _prefill(0, 2), *_decode(0, 2))
ONE_BY_ONE = tuple(p for r in range(4) for p in (_prefill(r), *_decode(r)))
SCORED = (tuple((r, 0, WHOLE[r]) for r in (1, 3, 0, 2)),)  # no decoding: log-probabilities alone
LATE = (_prefill(0), ((0, 5, 6), (1, 0, 8)), ((0, 6, 7), (1, 8, 9), (2, 0, 3)), *_decode(2, 1))

# The second request finds the beginning of its prompt in the cache.
PREFIX_KEPT = (_prefill(3, 0), ((2, 0, 3), (1, 3, 8)), *_decode(3, 0, 1, 2))

BF16 = torch.bfloat16
PAIRS = (
    RolloutPair("left-in-order", "left", IN_ORDER),
    RolloutPair("right-other-order", "right", OTHER_ORDER, dtype=BF16),
    RolloutPair("packed-chunked", "packed", CHUNKED, keeps_residual=False),
    RolloutPair("left-two-batches", "left", IN_TWO_BATCHES, dtype=BF16, in_one_step=True),
    RolloutPair("sequence-first", "sequence first", OTHER_ORDER, keeps_residual=False),
    RolloutPair("experts-left", "left", OTHER_ORDER, is_sparse=True, faults=OF_EXPERTS),
    RolloutPair("packed-one-by-one", "packed", ONE_BY_ONE, dtype=BF16, keeps_residual=False),
    RolloutPair("experts-packed", "packed", IN_ORDER, BF16, is_sparse=True, faults=OF_EXPERTS),
    RolloutPair("scored-by-rows", "left", SCORED, task="statistics", faults=WITHOUT_DECODING),
    RolloutPair("late-by-rows", "right", LATE, BF16, task="statistics"),
    RolloutPair("chunked-by-rows", "sequence first", CHUNKED, in_one_step=True, task="statistics"),
    RolloutPair("prefix-kept", "packed", PREFIX_KEPT, cached={1: (0, 3)}),
    RolloutPair(
        "prefix-kept-experts",
        "right",
        PREFIX_KEPT,
        is_sparse=True,
        keeps_residual=False,
        task="statistics",
        cached={1: (0, 3)},
        faults=OF_EXPERTS,
    ),
    RolloutPair(
        "experts-by-rows",
        "left",
        CHUNKED,
        is_sparse=True,
        keeps_residual=False,
        task="statistics",
        faults=OF_EXPERTS,
    ),
)
