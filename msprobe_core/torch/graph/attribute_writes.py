"""Keeps dynamo from losing what a program writes to attributes behind a hook of a gradient.

When torch 2.13 has traced such a hook it goes on with a copy of its notes on what was written. What
stands for the attributes of an object that was met before still writes into the notes of then:
`box.y = …` behind `x.register_hook(…)` is lost, and what is computed of it is wrong. Recording
registers such hooks in programs that have none.
"""

from __future__ import annotations

from typing import Any

import torch

from msprobe_core.capture.replacing import Replacements


def write_into_present_notes(replacements: Replacements) -> None:
    """Have what stands for an object's attributes use the notes that dynamo has by then."""
    attributes = getattr(torch._dynamo.variables.dicts, "SideEffectsProxyDict", None)
    if attributes is not None:
        replacements.put(attributes, _NOTES, property(_present_notes, _keep_notes))


_NOTES = "side_effects"


def _keep_notes(attributes: Any, notes: Any) -> None:
    vars(attributes)[_NOTES] = notes


def _present_notes(attributes: Any) -> Any:
    notes = vars(attributes)[_NOTES]
    graph = notes.output_graph_weakref()
    return notes if graph is None else graph.side_effects
