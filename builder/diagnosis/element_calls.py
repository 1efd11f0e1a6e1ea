"""Calls that compute nothing: they move, drop, cut off or pick elements of what they read.

What rounding decides in them, or hands on through them, begins elsewhere.
"""

from __future__ import annotations

from builder.match.tree import TreeNode

# Calls whose gradient goes to the largest or smallest element of a window.
_EXTREME = frozenset(
    "max min amax amin max_pool1d max_pool2d max_pool3d "
    "adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d fractional_max_pool2d".split()
)
# Calls whose gradient goes to the elements that a comparison picked.
_PICKING = _EXTREME | frozenset("topk sort median kthvalue cummax cummin".split())
# Calls whose gradient passes where an element lay on one side of a bound.
_GATING = frozenset(
    "relu relu6 leaky_relu prelu rrelu threshold hardtanh hardshrink softshrink hardswish "
    "hardsigmoid clamp clamp_min clamp_max clip abs maximum minimum".split()
)


def picks_elements(node: TreeNode) -> bool:
    """Whether the gradient of a call goes to elements that a comparison picked."""
    return api_name(node) in _PICKING


def gates_elements(node: TreeNode) -> bool:
    """Whether the gradient of a call passes by the sign of what the call read."""
    return api_name(node) in _GATING


def takes_extremes(node: TreeNode) -> bool:
    """Whether a call takes the largest or smallest element of each of its windows."""
    return api_name(node) in _EXTREME


def api_name(node: TreeNode) -> str:
    """The name of an API call without the underscore of its in-place form; "" for modules."""
    if node.kind != "api" or node.entry is None:
        return ""
    name = node.entry.type_name
    return name if name.startswith("__") else name.rstrip("_")
