"""Where a tensor can be had: what a module makes and does not put out stays in it."""

from __future__ import annotations

from builder.flow.feeding import Flow
from builder.flow.fingerprints import NO_PRINT
from builder.match.tree import TreeNode


class Scopes:
    """The modules of one side with what they put out.

    A tensor may still leave a module by another way, as an attribute; such programs are rare.
    """

    def __init__(self, flow: Flow) -> None:
        self._nodes = flow.tree.in_order
        self._keys = flow.tree.dump.values.keys
        self._prints = flow.prints.numbers
        self._begins = flow.begins
        self._put_out: dict[int, frozenset[int]] = {}

    def has(self, fingerprint: int, maker: int, reader: int) -> bool:
        """Whether what a call made can be read at a place; both by their execution order."""
        above = self._nodes[maker].parent
        while above is not None:
            order = above.exec_order
            if above.kind == "module" and not self._begins[order] <= reader <= order:
                left = self._outputs(above)
                if left and fingerprint not in left:
                    return False
            above = above.parent
        return True

    def _outputs(self, module: TreeNode) -> frozenset[int]:
        """Fingerprints of what a module puts out; none where nothing of it was recorded."""
        known = self._put_out.get(module.exec_order)
        if known is None:
            values = range(*module.values)
            known = frozenset(
                self._prints[at]
                for at in values
                if self._keys[at].startswith("output") and self._prints[at] != NO_PRINT
            )
            self._put_out[module.exec_order] = known
        return known
