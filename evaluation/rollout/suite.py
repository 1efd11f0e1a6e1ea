"""Records pairs, compares engine and trainer, and says whether module and token are named."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

import builder
from builder.reasons import BeginsAtToken, TokensAligned
from evaluation.rollout import later, mixture, mixture_engine
from evaluation.rollout.pairs import (
    BF16,
    CHUNKED,
    IN_ORDER,
    IN_TWO_BATCHES,
    OTHER_ORDER,
    PAIRS,
    PROMPTS,
    RolloutPair,
)


def _of_mixture(*faults: str) -> dict[str, tuple[str, str]]:
    return {fault: mixture_engine.FAULTS[fault] for fault in faults}


LATER = (
    RolloutPair(
        "generate", "sequence first", (), torch.float32, lines=(0, 1, 2, 3), faults=later.FAULTS
    ),
    RolloutPair("generate-right", "right", (), BF16, lines=(1, 0), faults=later.FAULTS),
    RolloutPair(
        "generate-rows", "packed", (), lines=(3, 2, 1), task="statistics", faults=later.FAULTS
    ),
)
MIXTURES = (
    RolloutPair(
        "mixture-bf16-engine",
        "right",
        CHUNKED,
        of_mixture=True,
        engine_dtype=BF16,
        faults=_of_mixture("window left out", "routed scale forgotten"),
    ),
    RolloutPair(
        "mixture-drafts",
        "packed",
        IN_ORDER,
        of_mixture=True,
        drafts={(1, 0): (7, 31), (1, 2): (11,), (2, 3): (44, 45)},
        faults=_of_mixture("draft kept", "shared expert forgotten"),
    ),
    RolloutPair(
        "mixture-other-order",
        "left",
        OTHER_ORDER,
        BF16,
        of_mixture=True,
        faults=_of_mixture("routing not replayed", "shares by softmax"),
    ),
    RolloutPair(
        "mixture-rows",
        "sequence first",
        IN_TWO_BATCHES,
        of_mixture=True,
        task="statistics",
        faults=_of_mixture("query not normed", "key turned before its norm"),
    ),
)
Token = tuple[int, int]  # request and position


def every_pair() -> tuple[RolloutPair, ...]:
    """All pairs of the suite."""
    return (*PAIRS, *LATER, *MIXTURES)


@dataclass(frozen=True)
class Answer:
    """What was said of one run of an engine, and what should have been: a module and a token."""

    pair: str
    run: str
    wanted: str | None
    first: Token | None
    named: tuple[str, ...]
    token: Token | None
    aligned: TokensAligned | None

    @property
    def is_right(self) -> bool:
        """Whether the first node named is the fault's; of a sound engine, that none is."""
        if self.wanted is None:
            return not self.named and self.aligned is not None
        return bool(self.named) and _is_of(self.named[0], self.wanted)

    @property
    def has_token(self) -> bool:
        """Whether the token at which it begins is the one said."""
        return self.is_right and self.token == self.first


def answers(pair: RolloutPair, runs: Sequence[str], root: Path) -> Iterator[Answer]:
    """The answers on some runs of a pair: `sound`, or faults by their names."""
    folder = root / pair.name
    command = [sys.executable, "-m", "evaluation.rollout.run", str(folder), pair.name]
    subprocess.run([*command, "trainer", *runs], check=True, capture_output=True)
    for run in runs:
        output = root / "compared" / pair.name / run
        result = builder.build(folder / run, folder / "trainer", output)
        named = tuple(finding.name for finding in result.findings)
        reasons = [r for finding in result.findings[:1] for r in finding.reasons]
        told = next((r for r in reasons if isinstance(r, BeginsAtToken)), None)
        aligned = next((n for n in result.summary if isinstance(n, TokensAligned)), None)
        module, first = (None, None) if run == "sound" else pair.faults[run]
        token = None if told is None else (told.request, told.position)
        wanted = None if first is None else _first_token(pair, first)
        yield Answer(pair.name, run, module, wanted, named, token, aligned)


def _first_token(pair: RolloutPair, which: str) -> Token:
    """The first token in the order of the engine that a fault reaches."""
    if pair.lines:
        longest = max(PROMPTS[request] for request in pair.lines)
        short = next(request for request in pair.lines if PROMPTS[request] < longest)
        first = pair.lines[0]
        return {
            "first": (first, 0),
            "second": (first, 1),
            "padded": (short, 0),
            "decoded": (first, PROMPTS[first]),
        }[which]
    for number, shares in enumerate(pair.passes):
        decodes = all(stop - start == 1 and start > 0 for _, start, stop in shares)
        for request, start, stop in shares:
            if which == "first":
                return request, start
            if which == "second" and stop > max(start, 1):
                return request, max(start, 1)
            if which == "decoded" and decodes:
                return request, start
            if which == "window" and stop > mixture.WINDOW:
                return request, max(start, mixture.WINDOW)
            if which == "redone" and (number - 1, request) in pair.drafts:
                return request, start
    raise ValueError(f"{pair.name} has no token that is {which}")


def _is_of(name: str, wanted: str) -> bool:
    owner = name.rpartition(".forward.")[0]
    return owner.rpartition(".")[0] == f"Module.{wanted}"
