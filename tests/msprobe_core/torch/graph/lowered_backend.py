"""Inductor up to its choice of kernels: which steps become one. Kernels themselves, which take most
of the time, are not compiled; graphs run as inductor's passes leave them.
"""

from __future__ import annotations

from typing import Any

import torch
from torch._functorch.aot_autograd import make_boxed_func

Kernels = list[frozenset[str]]
"""Of each kernel the nodes of the graph that it computes."""
CHOSEN: list[Kernels] = []
"""The kernels of each graph since this was last emptied."""


class _ChosenError(Exception):
    """Inductor has chosen, and need not go on."""


def lowered_backend(graph: Any, inputs: Any) -> Any:
    """Choose the kernels of a graph of dynamo's."""
    from torch._inductor import compile_fx, config

    with (
        torch._functorch.config.patch(enable_autograd_cache=False),
        config.patch(fx_graph_cache=False),
    ):
        return compile_fx.compile_fx(graph, inputs, inner_compile=_lowered)


lowered_backend.__name__ = "inductor"  # by which it is known where records go


def _lowered(graph: Any, inputs: Any, **facts: Any) -> Any:
    from torch._inductor import compile_fx, config
    from torch._inductor.exc import InductorError

    before = config._post_fusion_custom_pass

    def chosen(kernels: list[Any]) -> None:
        kernels = kernels if before is None else before(kernels)
        CHOSEN.append([_computed_by(each) for each in kernels])
        raise _ChosenError

    with config.patch(_post_fusion_custom_pass=chosen):
        try:
            compile_fx.compile_fx_inner(graph, inputs, **facts)
        except (_ChosenError, InductorError) as error:
            if "_ChosenError" not in repr(error):
                raise
    graph.recompile()
    return make_boxed_func(graph.forward)


def _computed_by(kernel: Any) -> frozenset[str]:
    origins = (node for step in kernel.get_nodes() for node in step.node.get_origins())
    # A recorded graph has more inputs, so their names say nothing.
    return frozenset(node.name for node in origins if node.op != "placeholder")
