"""Says of findings at which token they begin, where the rows of both runs were aligned."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from builder.compare.comparison import Comparison
from builder.diagnosis.finding import Finding
from builder.reasons import BeginsAtToken

_HALF = 0.5


def say_first_tokens(comparison: Comparison, findings: Sequence[Finding]) -> None:
    """Add to each finding the first token that its node puts out otherwise, or else reads so.

    The first in the order of the run that computed them in more forward passes: what is wrong with
    one token may be read by those after it.
    """
    if comparison.matching.token_errors is None:
        return
    for finding in findings:
        said = _first(comparison, finding)
        if said is not None:
            finding.reasons.append(said)


def tokens_apart(comparison: Comparison, row: int) -> NDArray[np.int64]:
    """The tokens of a row that are apart beyond rounding, in the order of the run cut up more.

    The threshold of a finding is for the worst of a value; a token alone is held against the
    tolerance.
    """
    known = comparison.matching.token_errors
    assert known is not None
    errors = known.errors[int(comparison.pairs.problem[row])]
    with np.errstate(invalid="ignore"):
        return np.flatnonzero(errors > comparison.scores.limit[row])


def shows_at_few_tokens(comparison: Comparison, rows: Sequence[int]) -> bool:
    """Whether less than half of all tokens are apart in each of some rows; not where none is."""
    known = comparison.matching.token_errors
    assert known is not None
    shares = [
        float(np.mean(errors[~np.isnan(errors)] > comparison.scores.limit[row]))
        for row in rows
        if (errors := known.errors.get(int(comparison.pairs.problem[row]))) is not None
    ]
    return 0 < max(shares, default=0.0) < _HALF


def _first(comparison: Comparison, finding: Finding) -> BeginsAtToken | None:
    known = comparison.matching.token_errors
    assert known is not None
    pairs = comparison.pairs
    rows = np.flatnonzero(pairs.node == finding.node.exec_order)
    told = [row for row in rows.tolist() if int(pairs.problem[row]) in known.errors]
    if not told:
        return None
    row = max(told, key=lambda each: (comparison.is_output[each], comparison.scores.score[each]))
    apart = tokens_apart(comparison, row)
    if not len(apart):
        return None
    first, tokens = int(apart[0]), known.tokens
    count = int((~np.isnan(known.errors[int(pairs.problem[row])])).sum())
    return BeginsAtToken(int(tokens.request[first]), int(tokens.position[first]), len(apart), count)
