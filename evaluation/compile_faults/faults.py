"""The faults: where each is put into a compiler, and which module and call are wrong first.

`HELD_BACK` were not looked at while the others were mended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.fx import Graph, Node

from evaluation.compile_faults.masked import Masked
from tests.msprobe_core.torch.graph.models import Language, batch

aten = torch.ops.aten
Family = Literal[
    "decomposition",
    "lowering",
    "before gradients",
    "joint graph",
    "fusion",
    "pattern",
    "cast",
    "mask",
    "layout",
    "reduction",
    "constant",
    "alias",
    "chance",
    "backward",
    "shape",
]
Seeded = Callable[[], AbstractContextManager[None]]


@dataclass(frozen=True, slots=True)
class Fault:
    """`module` and `calls` are right answers: the first wrong module, and names of calls in it."""

    name: str
    family: Family
    seeded: Seeded
    module: str
    calls: tuple[str, ...]
    model: Callable[[], nn.Module] = Language
    given: Callable[[], Tensor] = batch


@contextmanager
def decomposed(op: Any, wrong: Callable[..., Any]) -> Iterator[None]:
    """Inductor takes an operator apart in a wrong way."""
    from torch._inductor.decomposition import decompositions

    known = decompositions.get(op)
    decompositions[op] = wrong
    try:
        yield
    finally:
        del decompositions[op]
        if known is not None:
            decompositions[op] = known


@contextmanager
def lowered(op: Any, factor: float) -> Iterator[None]:
    """What inductor makes of an operator is off by a factor."""
    from torch._inductor.lowering import lowerings

    known = lowerings[op]
    lowerings[op] = lambda *args, **kwargs: lowerings[aten.mul.Tensor](
        known(*args, **kwargs), factor
    )
    try:
        yield
    finally:
        lowerings[op] = known


@contextmanager
def with_pass(run: Callable[[Graph], None]) -> Iterator[None]:
    """A pass of somebody's runs over inductor's graphs."""
    from torch._inductor import config

    with config.patch(post_grad_custom_pre_pass=run):
        yield


def wrong_gelu(x: Tensor, *, approximate: str = "none") -> Tensor:
    return x * 0.5 * (1.0 + torch.erf(x * (0.70710678 * 1.002)))


def wrong_gelu_backward(gradient: Tensor, x: Tensor, *, approximate: str = "none") -> Tensor:
    inner = 0.5 * (1.0 + torch.erf(x * 0.7071067811865476))
    return gradient * (inner + x * torch.exp(x * x * -0.5) * (0.3989422804014327 * 1.01))


def norm_in_bfloat16(
    x: Tensor, shape: list[int], weight: Tensor, bias: Tensor, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    low = x.to(torch.bfloat16)
    mean = low.mean(-1, keepdim=True)
    scale = torch.rsqrt((low - mean).pow(2).mean(-1, keepdim=True) + eps)
    out = ((low - mean) * scale).float() * weight + bias
    return out, mean.float(), scale.float()


def last_gradient_wins(
    gradient: Tensor, ids: Tensor, words: int, padding: int, scaled: bool
) -> Tensor:
    """The gradient of an embedding in which words that occur twice are not summed."""
    return gradient.new_zeros(words, gradient.shape[-1]).index_put((ids,), gradient)


def norm_with_a_wrong_scale(graph: Graph) -> None:
    """A norm as one step, 0.2 % too large, where nobody else uses the value in between."""
    for node in list(graph.nodes):
        if node.target is aten.mul.Tensor and _made_by(node.args[1], aten.rsqrt.default):
            users = list(node.users)
            if len(users) == 1 and users[0].target is aten.mul.Tensor:
                _scale(graph, node, 1.002)


def bias_lost_in_wide_layers(graph: Graph) -> None:
    for node in list(graph.nodes):
        if node.target is aten.addmm.default and node.meta["val"].shape[-1] == 4 * 32:
            product = node.args[1:]
            _instead(graph, node, lambda at=product: graph.call_function(aten.mm.default, at))


def sum_without_its_factor(graph: Graph) -> None:
    """2 x + y becomes x + y: a fused add that forgets alpha."""
    for node in list(graph.nodes):
        if node.target is aten.add.Tensor and _made_by(node.args[0], aten.mul.Tensor):
            x, factor = node.args[0].args
            if factor == 2:
                terms = (x, node.args[1])
                _instead(graph, node, lambda at=terms: graph.call_function(aten.add.Tensor, at))


def product_in_bfloat16(graph: Graph) -> None:
    """Matrix products without a bias are computed in bfloat16."""
    if any(node.name.startswith("tangents") for node in graph.nodes):
        return

    def narrow(node: Node) -> Node:
        cast = torch.ops.prims.convert_element_type.default
        low = [graph.call_function(cast, (each, torch.bfloat16)) for each in node.args]
        made = graph.call_function(aten.mm.default, tuple(low))
        return graph.call_function(cast, (made, torch.float32))

    for node in list(graph.nodes):
        if node.target is aten.mm.default:
            _instead(graph, node, lambda at=node: narrow(at))


def causal_mask_dropped(graph: Graph) -> None:
    for node in graph.nodes:
        if node.target is aten._scaled_dot_product_flash_attention_for_cpu.default:
            node.args = (*node.args[:4], False)


def fill_dropped(graph: Graph) -> None:
    """where(mask, -inf, scores) becomes scores."""
    for node in list(graph.nodes):
        if node.target is aten.where.self and node.meta["val"].dim() == 3:
            scores = node.args[2]
            _instead(graph, node, lambda at=scores: graph.call_function(aten.clone.default, (at,)))


def _made_by(node: object, target: object) -> bool:
    return isinstance(node, Node) and node.target is target


def _instead(graph: Graph, node: Node, make: Callable[[], Node]) -> None:
    """Put another node in a node's place, as passes do: with what is noted on it."""
    with graph.inserting_before(node):
        new = make()
    new.meta = dict(node.meta)
    node.replace_all_uses_with(new)
    graph.erase_node(node)


def _scale(graph: Graph, node: Node, factor: float) -> None:
    """Multiply a node's value for all who use it."""
    with graph.inserting_after(node):
        new = graph.call_function(aten.mul.Tensor, (node, factor))
    new.meta = dict(node.meta)
    node.replace_all_uses_with(new, delete_user_cb=lambda user: user is not new)


_LAYER = "layers.0"
FAULTS = (
    Fault(
        "gelu with a constant 0.2 % off",
        "decomposition",
        lambda: decomposed(aten.gelu.default, wrong_gelu),
        f"{_LAYER}.act",
        ("Functional.gelu.0.forward",),
    ),
    Fault(
        "gradient of gelu with a constant 1 % off",
        "decomposition",
        lambda: decomposed(aten.gelu_backward.default, wrong_gelu_backward),
        "layers.1.act",
        ("Functional.gelu.1.backward",),
    ),
    Fault(
        "gradient of an embedding that keeps one of many",
        "decomposition",
        lambda: decomposed(aten.embedding_dense_backward.default, last_gradient_wins),
        "embed",
        ("Functional.embedding.0.backward", "Module.embed.Embedding.parameters_grad.0"),
    ),
    Fault(
        "fused norm 0.2 % too large",
        "fusion",
        lambda: with_pass(norm_with_a_wrong_scale),
        f"{_LAYER}.norm",
        ("Tensor.__mul__.0.forward",),
    ),
    Fault(
        "fused linear without its bias",
        "fusion",
        lambda: with_pass(bias_lost_in_wide_layers),
        f"{_LAYER}.up",
        ("Functional.linear.2.forward",),
    ),
    Fault(
        "rsqrt 0.2 % too large",
        "lowering",
        lambda: lowered(aten.rsqrt.default, 1.002),
        f"{_LAYER}.norm",
        ("Torch.rsqrt.0.forward",),
    ),
    Fault(
        "a product cast to bfloat16",
        "cast",
        lambda: with_pass(product_in_bfloat16),
        "head",
        ("Functional.linear.8.forward",),
    ),
    Fault(
        "attention without its causal mask",
        "mask",
        lambda: with_pass(causal_mask_dropped),
        f"{_LAYER}.attention",
        ("Functional.scaled_dot_product_attention.0.forward",),
    ),
)
HELD_BACK = (
    Fault(
        "fused sum without its factor",
        "fusion",
        lambda: with_pass(sum_without_its_factor),
        _LAYER,
        ("Tensor.__rmul__.0.forward", "Tensor.__add__.2.forward"),
    ),
    Fault(
        "mean divided by too few",
        "lowering",
        lambda: lowered(aten.mean.dim, 32 / 31),
        f"{_LAYER}.norm",
        ("Tensor.mean.0.forward",),
    ),
    Fault(
        "layer norm in bfloat16",
        "cast",
        lambda: decomposed(aten.native_layer_norm.default, norm_in_bfloat16),
        f"{_LAYER}.norm",
        ("Functional.layer_norm.0.forward",),
        Masked,
    ),
    Fault(
        "scores without their mask",
        "mask",
        lambda: with_pass(fill_dropped),
        f"{_LAYER}.attention",
        ("Tensor.masked_fill.0.forward",),
        Masked,
    ),
)
