"""`make certainty`: how often findings of each word of certainty are right, over recorded pairs.

A finding is right where it names a fault of its pair, by the oracle of the suite; those that heal
name none and are left out. Exit code 1 when a word is right less often than it promises.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from evaluation.findings_diff.__main__ import SUITES, answers, options_of
from evaluation.findings_diff.differences import Answer, told_right
from evaluation.findings_diff.pairs import RecordedPair

# What a word promises: the share of right findings that it has at least.
PROMISED = {"certain": 0.99, "likely": 0.85, "possible": 0.0}
Tally = Counter[tuple[str, str, bool]]
"""Findings by word, basis and whether they are right."""


def main() -> int:
    """Print the table over all suites that were asked for."""
    options = options_of(__doc__ or "", base=False)
    tally: Tally = Counter()
    for name in options.suite or SUITES:
        pairs = list(SUITES[name](options))
        tally += tally_of(pairs, answers(pairs, options, None))
    print("\n".join(table(tally)))
    return int(any(share < PROMISED[word] for word, share in shares(tally).items()))


def tally_of(pairs: Sequence[RecordedPair], said: dict[str, Answer]) -> Tally:
    """The findings of some pairs, counted."""
    return Counter(
        (finding["certainty"]["word"], _basis(finding["certainty"]["basis"]), right)
        for pair in pairs
        for finding, right in told_right(said[pair.title], pair.faults)
        if not finding["heals"]
    )


def _basis(basis: str) -> str:
    """What both recordings say they say of calls, whether or not numbers tell of it as well."""
    return "called" if basis == "recorded" else basis


def shares(tally: Tally) -> dict[str, float]:
    """The share of right findings of each word that occurs."""
    counted = _by_word(tally)
    return {word: right / (right + wrong) for word, (right, wrong) in counted.items()}


def table(tally: Tally) -> Iterator[str]:
    """The table of docs/internals/diagnosis-measured.md."""
    bases = ("measured", "called", "estimated", "scores", "guessed")
    yield f"| word | right | wrong | share | of these {', '.join(bases)} |"
    yield "|---|---|---|---|---|"
    for word, (right, wrong) in _by_word(tally).items():
        listed = ", ".join(
            f"{tally[word, basis, True]}/{tally[word, basis, True] + tally[word, basis, False]}"
            for basis in bases
        )
        yield f"| {word} | {right} | {wrong} | {100 * right / (right + wrong):.1f} % | {listed} |"


def _by_word(tally: Tally) -> dict[str, tuple[int, int]]:
    counted = {word: (_count(tally, word, True), _count(tally, word, False)) for word in PROMISED}
    return {word: both for word, both in counted.items() if any(both)}


def _count(tally: Tally, word: str, right: bool) -> int:
    kinds: Iterable[tuple[str, str, bool]] = (key for key in tally if key[0::2] == (word, right))
    return sum(tally[kind] for kind in kinds)


if __name__ == "__main__":
    sys.exit(main())
