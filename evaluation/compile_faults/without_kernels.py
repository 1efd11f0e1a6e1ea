"""Inductor without its kernels: all of its passes over a graph, and then the graph as it is.

Most of the time goes into kernels, and only faults of lowerings need them.
"""

from __future__ import annotations

from typing import Any

import torch
from torch._dynamo.utils import detect_fake_mode
from torch._functorch.aot_autograd import make_boxed_func


def without_kernels(graph: Any, inputs: Any) -> Any:
    """Compile a graph of dynamo's."""
    from torch._inductor.compile_fx import compile_fx

    return compile_fx(graph, inputs, inner_compile=_finished)


without_kernels.__name__ = "inductor"  # by which it is known where records go


def _finished(graph: Any, inputs: Any, is_inference: bool = False, **_: object) -> Any:
    from torch._inductor.compile_fx import _recursive_post_grad_passes, fake_tensor_prop
    from torch._inductor.virtualized import V

    mode = detect_fake_mode(inputs)
    with torch.no_grad():
        fake_tensor_prop(graph, inputs)
    with V.set_fake_mode(mode):
        _recursive_post_grad_passes(graph, is_inference=is_inference)
    graph.recompile()
    return make_boxed_func(graph.forward)
