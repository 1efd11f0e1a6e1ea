"""What the ranks of one run say of each other, held against no benchmark.

`ranks` and other lists are text, as they are shown; `value` is a value's key within its node.
"""

from __future__ import annotations

from typing import TypeAlias, Union

from builder.reasons.fact import RankFact

# --- replicas, updates and clipping -------------------------------------------------------------


class ReplicasDiffer(RankFact, frozen=True):
    """What all ranks of an axis should have alike is apart by a relative error."""

    value: str
    axis: str
    error: float
    ranks: str
    coordinates: str


class ReplicasUnlike(RankFact, frozen=True):
    """What all ranks of an axis should have alike has other shapes or formats."""

    value: str
    axis: str
    ranks: str
    coordinates: str


class OwnGradient(RankFact, frozen=True):
    """Each rank's optimizer reads what its own backward pass gave."""


class OwnGradientOver(RankFact, frozen=True):
    """Each rank's optimizer reads a sum over `axes`, and nothing was added up over `axis`."""

    axes: str
    axis: str


class OptimizerApart(RankFact, frozen=True):
    """Ranks read alike gradients and parameters and wrote unlike ones."""


class GradientsScaledApart(RankFact, frozen=True):
    """The factors by which ranks scaled all gradients are unlike."""

    factors: str


class ClippedApart(RankFact, frozen=True):
    """The factors that clipping itself recorded are unlike."""

    factors: str


class CopiesScaledApart(RankFact, frozen=True):
    """Ranks multiply by unlike numbers what all ranks of an axis hold alike."""

    axis: str
    factors: str


class NormCountsOften(RankFact, frozen=True):
    """The norm for clipping counts what ranks repeat once for each of them."""

    norm: float
    whole: float
    axis: str
    count: int


class UpdateLost(RankFact, frozen=True):
    """Some ranks have a parameter as it was before the update of the step before."""

    ranks: str


class DrawsOther(RankFact, frozen=True):
    """A call that is given the same on all ranks draws or chooses something else on each."""

    call: str
    axis: str


class GatheredOutOfOrder(RankFact, frozen=True):
    """Gathered parts are put together in another order of ranks along an axis than they lie in."""

    call: str
    axis: str
    order: str
    usual: str


class SharesUnread(RankFact, frozen=True):
    """What a module reads is not what the shares of a parameter, which optimizers hold, make up."""

    value: str
    ranks: str


class SharesUnsummed(RankFact, frozen=True):
    """The shares of a gradient are not the sum that those of `peers` others are."""

    value: str
    peers: int


class ShardsUpdatedApart(RankFact, frozen=True):
    """Ranks that hold one shard read or write another `value` for it."""

    ranks: str
    value: str


# --- gradients ----------------------------------------------------------------------------------


class ReducedTooOften(RankFact, frozen=True):
    """A gradient is `times` what most parameters' reduction would make of it, more than 1."""

    factor: float
    axes: str
    peers: int
    usual: float
    times: float


class DividedTooOften(RankFact, frozen=True):
    """A gradient is `times` what most parameters' reduction would make of it, less than 1."""

    factor: float
    axes: str
    peers: int
    usual: float
    times: float


class UnlikeAdded(RankFact, frozen=True):
    """A collective adds up the gradients of other parameters on each rank."""

    names: str


class SharesUpdatedAsOne(RankFact, frozen=True):
    """Unlike shares of a parameter are updated by one gradient."""

    axis: str
    parameter: str


class GradientApart(RankFact, frozen=True):
    """What `whole` gives is the same on all ranks; `reader` hands on a part of its gradient."""

    whole: str
    axis: str
    reader: str


class GradientApartSomewhere(RankFact, frozen=True):
    """The same, where nothing tells which reader it is."""

    whole: str
    axis: str


class OwnAddedToWhole(RankFact, frozen=True):
    """`reader` gives each rank something of its own, to which `whole` adds what is the same."""

    reader: str
    axis: str
    whole: str
    count: int


class AllDividedTwice(RankFact, frozen=True):
    """All gradients are a sum over axes of `size` ranks by its square."""

    factor: float
    axes: str
    size: int


class OwnerReadsOwn(RankFact, frozen=True):
    """The one rank that updates a parameter reads its own gradient; others are added up."""

    rank: int
    axis: str
    peers: int


class FewerReductions(RankFact, frozen=True):
    """A module's backward pass reduces less often than that of most of its role."""

    count: int
    kind: str
    peers: int
    usual: int


# --- placements in the forward pass -------------------------------------------------------------


class SumOfPeersUsed(RankFact, frozen=True):
    """Other layers add the parts up that `call` gives, and here `reader` reads them."""

    call: str
    peers: int
    reader: str


class PartAdded(RankFact, frozen=True):
    """A rank's part of a sum is added to what is the same on all."""

    maker: str
    axis: str
    reader: str


class PartBent(RankFact, frozen=True):
    """A rank's part of a sum goes into a call that is not linear."""

    maker: str
    axis: str
    reader: str


class SummedElsewhere(RankFact, frozen=True):
    """The part of a sum is added up over another axis than its own."""

    call: str


class WholeBias(RankFact, frozen=True):
    """Each rank adds the whole bias to its part of a sum."""

    maker: str
    axis: str


class ShardAsWhole(RankFact, frozen=True):
    """A shard is read by a call that needs all there is."""

    maker: str
    axis: str
    reader: str


class DropsOther(RankFact, frozen=True):
    """Ranks drop other elements of one whole value."""

    maker: str
    axis: str


class SharesEqual(RankFact, frozen=True):
    """Ranks that cut a parameter hold one share of it, and of most others each its own."""

    value: str
    axis: str
    ranks: str
    peers: int


class LayersEqual(RankFact, frozen=True):
    """A stage holds another stage's layer as one of its own."""

    value: str
    ranks: str
    other: str


class CopiesApart(RankFact, frozen=True):
    """One gradient updates two parameters of two stages, and they are unlike."""

    other: str


class RowsUnowned(RankFact, frozen=True):
    """No rank looks up some rows of a vocabulary."""

    axis: str
    first: int
    last: int


class RowsOwnedTwice(RankFact, frozen=True):
    """Several ranks look up the same rows of a vocabulary."""

    axis: str
    first: int
    last: int
    ranks: str


class PartEmptied(RankFact, frozen=True):
    """Some ranks multiply their part of a sum by zero."""

    ranks: str
    axis: str


class PositionsMisplaced(RankFact, frozen=True):
    """Positions lie over ranks in another order than the run says."""

    order: str
    other: str


# --- collectives --------------------------------------------------------------------------------


class SummedAgain(RankFact, frozen=True):
    """A collective adds up what is one whole value on all its ranks."""

    count: int


class ResultsUnlike(RankFact, frozen=True):
    """Two ranks have other results of one sum."""

    first: int
    second: int


class OtherForm(RankFact, frozen=True):
    """A result has another shape or format than what was given."""

    rank: int
    result: str
    ranks: str
    given: str


class NotTheSum(RankFact, frozen=True):
    """A result is not the sum of what was given."""

    rank: int
    ranks: str
    mean: float
    instead: float


class NotWhatWasSent(RankFact, frozen=True):
    """A rank does not hold what was broadcast."""

    rank: int
    source: int


class PlaceNotGiven(RankFact, frozen=True):
    """A place of what was gathered is not what its rank gave."""

    place: int
    rank: int
    source: int


class NotGathered(RankFact, frozen=True):
    """A result is not what the ranks gave."""

    rank: int
    ranks: str


class NotExchanged(RankFact, frozen=True):
    """Ranks received what they did not send."""

    ranks: str


class PlaceNotSent(RankFact, frozen=True):
    """A place of what a rank received is not what was sent there."""

    place: int
    rank: int
    source: int


class OtherGroupUsed(RankFact, frozen=True):
    """A collective runs over another axis than the same call of most layers."""

    axis: str
    peers: int
    usual: str


# --- rows ---------------------------------------------------------------------------------------


class RowsReordered(RankFact, frozen=True):
    """Ranks that cut layers read rows in unlike orders."""

    ranks: str
    count: int
    argument: str


class RowsShared(RankFact, frozen=True):
    """Some replicas read the same rows and others rows of their own."""

    ranks: str
    count: int
    argument: str
    axis: str


# All reasons of this file.
RankReason: TypeAlias = Union[  # noqa: UP007 - a line each
    ReplicasDiffer,
    ReplicasUnlike,
    OwnGradient,
    OwnGradientOver,
    OptimizerApart,
    GradientsScaledApart,
    ClippedApart,
    CopiesScaledApart,
    NormCountsOften,
    UpdateLost,
    DrawsOther,
    GatheredOutOfOrder,
    SharesUnread,
    SharesUnsummed,
    ShardsUpdatedApart,
    ReducedTooOften,
    DividedTooOften,
    AllDividedTwice,
    OwnerReadsOwn,
    FewerReductions,
    UnlikeAdded,
    SharesUpdatedAsOne,
    GradientApart,
    GradientApartSomewhere,
    OwnAddedToWhole,
    SumOfPeersUsed,
    PartAdded,
    PartBent,
    SummedElsewhere,
    WholeBias,
    ShardAsWhole,
    DropsOther,
    SharesEqual,
    LayersEqual,
    CopiesApart,
    RowsUnowned,
    RowsOwnedTwice,
    PartEmptied,
    PositionsMisplaced,
    SummedAgain,
    ResultsUnlike,
    OtherForm,
    NotTheSum,
    NotWhatWasSent,
    PlaceNotGiven,
    NotGathered,
    NotExchanged,
    PlaceNotSent,
    OtherGroupUsed,
    RowsReordered,
    RowsShared,
]
