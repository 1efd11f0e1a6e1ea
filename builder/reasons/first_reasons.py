"""What the first reason of a finding decides: what the finding rests on, where it begins, and what
the reasons below it need not say. The page has the codes from `make messages`.
"""

from __future__ import annotations

from collections.abc import Sequence

from builder.reasons.fact import Fact
from builder.reasons.of_findings import (
    ArgumentDiffers,
    BatchDiffers,
    BatchRows,
    BatchShaped,
    CalledEarlier,
    CalledLater,
    ElementsMoved,
    ExtraCalls,
    ExtraReplaced,
    FedOtherwise,
    InputDiffers,
    IntegersDiffer,
    MissingCalls,
    MissingReplaced,
    ModeDiffers,
    PrecisionDiffers,
    ReadBefore,
    Rewired,
    TiedHere,
    TiedThere,
    UnrecordedDiffers,
    UpdatedAlone,
)
from builder.reasons.of_rank_findings import RowsDiffer
from builder.reasons.of_values import AttributeDiffers

# What the two runs call, with what, and of which parameters: both dumps say it, whatever numbers
# there are.
CALLED = (
    ArgumentDiffers,
    AttributeDiffers,
    CalledEarlier,
    CalledLater,
    ExtraCalls,
    ExtraReplaced,
    FedOtherwise,
    MissingCalls,
    MissingReplaced,
    ModeDiffers,
    PrecisionDiffers,
    TiedHere,
    TiedThere,
    UpdatedAlone,
)
# What a call reads differs, and no other call is named that it reads: the call itself is as in the
# other run. What reads another call (`Rewired`, `FedOtherwise`) is written otherwise itself.
FED = (
    BatchDiffers,
    BatchRows,
    BatchShaped,
    ElementsMoved,
    InputDiffers,
    IntegersDiffer,
    RowsDiffer,
    UnrecordedDiffers,
)
# What explains the difference that is told below it, or says itself that nothing recorded does.
SAYS_WHY = (*CALLED, *FED, ReadBefore, Rewired)


def says_why(reasons: Sequence[Fact]) -> bool:
    """Whether what a finding tells first leaves nothing to say of what explains it."""
    return bool(reasons) and isinstance(reasons[0], SAYS_WHY)


def tells_of_calls(reasons: Sequence[Fact]) -> bool:
    """Whether what a finding tells first is which calls there are, or how they are made."""
    return bool(reasons) and isinstance(reasons[0], CALLED)


def is_fed(kind: str, reasons: Sequence[Fact]) -> bool:
    """Whether a finding of a kind begins before its call, which only reads what differs."""
    return kind == "input_differs" and bool(reasons) and isinstance(reasons[0], FED)
