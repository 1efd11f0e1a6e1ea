"""Where tensors of zeros or ones alone came from, by their shape and the order of execution."""

from __future__ import annotations

from builder.flow.constant_tensors import Constants
from builder.flow.cuts import Cuts
from builder.flow.feeding import NOWHERE
from builder.flow.made_of import Available, Tensor, is_cut_along_one
from builder.flow.silent_runs import SilentRuns

_FAR = 64  # calls before a reader among which the one that cut what it reads is looked for


def lead_constants(
    constants: Constants,
    silent: SilentRuns,
    available: Available,
    cuts: Cuts,
    origins: dict[int, tuple[int, ...]],
) -> None:
    """Draw each from a cut of which parts are left, else from what last put out or cut the like.

    `origins` are the nodes that a tensor comes from, where its maker is not its node.
    """
    search = _Search(constants, silent, available, cuts)
    for tensor, reader in constants.read:
        same = constants.latest(tensor)
        found = search.cut_into(tensor, same.node if same else NOWHERE)
        if found is not None:
            place, whole = found
            silent.claim([place], ("of", whole.print))
            cuts.note(place, whole, tensor)
            silent.lead(origins.get(whole.print, (whole.node,)), [place], reader, False)
        elif same is not None:
            silent.lead([same.node], [], reader, False)


class _Search:
    def __init__(
        self, constants: Constants, silent: SilentRuns, available: Available, cuts: Cuts
    ) -> None:
        self._constants, self._silent = constants, silent
        self._available, self._cuts = available, cuts

    def cut_into(self, part: Tensor, after: int) -> tuple[int, Tensor] | None:
        """The latest call that cut something into such a part, and that.

        One that ran before the node `after` only where more parts of it are left than were read.
        """
        calls = self._silent.calls
        stop = calls.before(part.node)
        for place in range(stop - 1, max(-1, stop - _FAR), -1):
            if not calls.silent[place] or not self._silent.works(place, "part"):
                continue
            whole = self._cuts.whole_at(place) or self._put_out_before(place)
            if whole is None or not _may_hold(whole, part):
                continue
            if calls.order[place] > after or self._cuts.has_more(place, whole, part):
                return place, whole
        return None

    def _put_out_before(self, place: int) -> Tensor | None:
        """What the call right before a silent one put out, where that one is not claimed yet."""
        if place == 0 or place in self._silent.claimed:
            return None
        maker = self._silent.calls.order[place - 1]
        made = [*self._available.near(maker + 1, 1), *self._constants.before(maker + 1)]
        return next((one for one in made if one.node == maker), None)


def _may_hold(whole: Tensor, part: Tensor) -> bool:
    cut = is_cut_along_one(part.shape, whole.shape)
    return cut and whole.low <= part.low and part.high <= whole.high
