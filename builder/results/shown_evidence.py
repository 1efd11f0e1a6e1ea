"""What a result file says of what was compared: the evidence for whatever may be claimed on it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import msgspec

from builder.claim import Counted, Evidence
from builder.work.outcome import place_gaps

_decoder = msgspec.json.Decoder(Evidence)
Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class FileState:
    """What the graphs and findings of a file tell besides: places are steps and ranks.

    `scored`: any node has a score. `divergent` counts nodes above the threshold, `unnamed` findings
    that nobody is told of, `mapped` pairs made by hand since.
    """

    failed: Collection[Place]
    missing: Collection[Place]
    unmatched: int
    divergent: int
    scored: bool
    unnamed: int = 0
    mapped: int = 0


NO_STATE = FileState((), (), 0, 0, scored=False)


def stored_evidence(text: str | None) -> Evidence | None:
    """The evidence that a build kept; None in files of earlier releases, or of others."""
    try:
        return None if text is None else _decoder.decode(text)
    except (msgspec.MsgspecError, UnicodeEncodeError):
        return None  # a file may come from anywhere


def evidence_of_file(stored: Evidence | None, state: FileState) -> Evidence | None:
    """The evidence with what was not compared at all, and what differs without being named.

    None where nobody kept what was compared, and nothing speaks against the runs.
    """
    differences = [Counted("unnamed", state.unnamed)]
    if stored is None or all(each.code != "divergent" for each in stored.differences):
        differences.append(Counted("divergent", state.divergent))
    if stored is None and state.scored and not any(each.count for each in differences):
        return None
    gaps = [*place_gaps(state.failed, state.missing), Counted("unmatched", state.unmatched)]
    found = (stored or Evidence()).with_gaps(*gaps, Counted("mapped", state.mapped))
    return found.with_differences(*differences)
