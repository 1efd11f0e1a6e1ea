"""The engine of the later pairs: a batch of lines that goes on by a token a line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from evaluation.rollout import later
from evaluation.rollout.pairs import PROMPTS, WHOLE

Fed = tuple[torch.Tensor, torch.Tensor]  # ids and positions


def passes(
    sequences: Sequence[Sequence[int]], lines: Sequence[int]
) -> Iterator[tuple[Fed, torch.Tensor]]:
    """What each forward pass is fed, and which places of all so far are no padding."""
    longest = max(PROMPTS[r] for r in lines)
    ids = torch.zeros(len(lines), longest, dtype=torch.long)
    is_token = torch.zeros(len(lines), longest + 8, dtype=torch.bool)
    positions = torch.zeros_like(ids)
    for line, request in enumerate(lines):
        start = longest - PROMPTS[request]
        ids[line, start:] = torch.tensor(sequences[request][: PROMPTS[request]])
        positions[line, start:] = torch.arange(PROMPTS[request])
        is_token[line, start:] = True
    yield (ids, positions), is_token
    for turn in range(max(WHOLE[r] - PROMPTS[r] for r in lines) - 1):
        # A line that is done is fed padding.
        at = [PROMPTS[r] + turn for r in lines]
        step = [sequences[r][p] if p < WHOLE[r] - 1 else 0 for r, p in zip(lines, at)]
        yield (torch.tensor(step)[:, None], torch.tensor(at)[:, None]), is_token


@torch.no_grad()
def generate(model: later.Generator, fed: Fed, is_token: torch.Tensor, past: later.Past) -> None:
    """One forward pass."""
    past.is_token = is_token
    model(*fed, past)
