"""A backend with the passes that put records into inductor's graphs, and none of inductor's own.

To load those takes longer than all that a test of records does.
"""

from __future__ import annotations

from typing import Any

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.aot_autograd import make_boxed_func
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch._inductor import config


def late_backend(graph: Any, inputs: Any) -> Any:
    """Compile a graph of dynamo's."""
    with torch._functorch.config.patch(enable_autograd_cache=False):
        return aot_autograd(
            fw_compiler=_finished,
            inference_compiler=_finished_at_once,
            partition_fn=_parted,
        )(graph, inputs)


late_backend.__name__ = "inductor"  # by which it is known where records go


def _parted(graph: Any, inputs: Any, **settings: Any) -> Any:
    _run(config.joint_custom_pre_pass, graph)
    return min_cut_rematerialization_partition(graph, inputs, **settings)


def _finished(graph: Any, _: Any) -> Any:
    _run(config.post_grad_custom_post_pass, graph)
    return make_boxed_func(graph.forward)


def _finished_at_once(graph: Any, inputs: Any) -> Any:
    _run(config.joint_custom_pre_pass, graph)
    return _finished(graph, inputs)


def _run(passes: Any, graph: Any) -> None:
    for each in passes:
        each(graph.graph)
    graph.recompile()
