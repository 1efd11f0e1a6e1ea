"""The sketches of records as numbers; docs/formats.md defines them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from builder.dump.values import Record
from msprobe_core.format import PROJECTIONS

_DIGITS = 8 * PROJECTIONS


def sketches_of(records: list[Record]) -> NDArray[np.float64] | None:
    """Projections by value (values × 8), NaN where a value has none; None where none has any."""
    places = [place for place, record in enumerate(records) if record.sketch is not None]
    if not places:
        return None
    projections = np.full((len(records), PROJECTIONS), np.nan)
    texts = [records[place].sketch or "" for place in places]
    if any(len(text) != _DIGITS for text in texts):
        texts = [text if len(text) == _DIGITS else "" for text in texts]
        places = [place for place, text in zip(places, texts, strict=True) if text]
    try:
        packed = bytes.fromhex("".join(texts))
    except ValueError:
        return None
    if places:
        projections[places] = np.frombuffer(packed, dtype="<f4").reshape(-1, PROJECTIONS)
    return projections


def projected_norms(projections: NDArray[np.float64]) -> NDArray[np.float64]:
    """The L2 norm that the projections of each value (values × 8) estimate."""
    return np.asarray(np.sqrt(np.mean(projections**2, axis=1)))
