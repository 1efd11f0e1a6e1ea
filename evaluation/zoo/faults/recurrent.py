"""Bugs in a recurrent model: states, time order, truncated gradients."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from evaluation.zoo.experiment import Experiment, tokens
from evaluation.zoo.fault import Fault, Place, backward, call, module, owner, update
from evaluation.zoo.models.recurrent import LENGTH, VOCABULARY


def _state_reset(e: Experiment) -> None:
    cell = e.model.unrolled.cell
    e.model.unrolled.advance = lambda x, state, moment: cell(
        x, torch.zeros_like(state) if moment == 3 else state
    )


def _weight_row(e: Experiment) -> None:
    with torch.no_grad():
        e.model.lstm.weight_hh_l0[5] *= 3


def _bias_lost(e: Experiment) -> None:
    with torch.no_grad():
        e.model.lstm.bias_ih_l0.zero_()


def _scale_missing(e: Experiment) -> None:
    e.model.scale = lambda x: x


def _subtracted(e: Experiment) -> None:
    e.model.join = lambda x, y: x - y


def _ones_at_first(e: Experiment) -> None:
    e.model.unrolled.initial = lambda x: torch.ones_like(x[:, 0])


def _reversed(e: Experiment) -> None:
    unrolled = e.model.unrolled

    def forward(x: Tensor) -> Tensor:
        state = unrolled.initial(x)
        states = []
        for moment in range(LENGTH):
            state = unrolled.advance(x[:, LENGTH - 1 - moment], state, moment)
            states.append(state)
        return torch.stack(states, dim=1)

    unrolled.forward = forward


def _gradient_truncated(e: Experiment) -> None:
    cell = e.model.unrolled.cell
    e.model.unrolled.advance = lambda x, state, moment: cell(
        x, state.detach() if moment == 4 else state
    )


def _clip_higher(e: Experiment) -> None:
    e.clip = 0.05


def _eps(e: Experiment) -> None:
    e.optimizer.param_groups[0]["eps"] = 1e-2


def _labels_not_shifted(e: Experiment) -> None:
    e.labels = lambda step: tokens(step, (4, LENGTH + 1), VOCABULARY)[:, :-1]


def _dropout_on(e: Experiment) -> None:
    e.model.join = lambda x, y: functional.dropout(x, 0.5) + y


_CELL = "unrolled.cell"

FAULTS = (
    Fault(
        "state reset at one time step", "forward", _state_reset,
        (
            Place(_CELL, nth=3),
            Place(_CELL, "Torch.gru_cell", nth=3),
            Place(_CELL, "VF.gru_cell", nth=3),
            *module("unrolled"),
        ),
    ),
    Fault("one row of a weight tripled", "parameter", _weight_row, owner("lstm", "VF.lstm")),
    Fault("bias lost", "parameter", _bias_lost, owner("lstm", "VF.lstm")),
    Fault("embedding scale missing", "missing", _scale_missing, call("", "Tensor.__mul__")),
    Fault(
        "subtracted instead of added", "forward", _subtracted,
        call("", "Tensor.__sub__", "Tensor.__add__"),
    ),
    Fault(
        "initial state of ones", "data", _ones_at_first,
        (
            Place(_CELL, nth=0),
            Place(_CELL, "Torch.gru_cell", nth=0),
            Place(_CELL, "VF.gru_cell", nth=0),
            *module("unrolled"),
        ),
    ),
    Fault(
        "time reversed", "forward", _reversed,
        (
            *call("unrolled", "Tensor.__getitem__"),
            *module("unrolled"),
            Place(_CELL, nth=0),
            Place(_CELL, "Torch.gru_cell", nth=0),
            Place(_CELL, "VF.gru_cell", nth=0),
        ),
    ),
    Fault(
        "gradient truncated in time", "backward", _gradient_truncated,
        (
            *call("unrolled", "Tensor.detach"),
            *backward(module("unrolled")),
            *backward((Place(_CELL), Place(_CELL, "Torch.gru_cell"), Place(_CELL, "VF.gru_cell"))),
            # detach is not recorded: the call that takes the cut state
            *call(_CELL, "Torch.gru_cell", "VF.gru_cell", nth=4),
        ),
    ),
    Fault(
        "clipping ten times stricter", "optimizer", _clip_higher,
        (*module("clip_grad"), *call("clip_grad", "*")),
    ),
    Fault("Adam eps 0.01", "optimizer", _eps, update()),
    Fault(
        "labels not shifted", "data", _labels_not_shifted, call("", "Functional.cross_entropy")
    ),
    Fault("dropout left on", "extra", _dropout_on, call("", "Functional.dropout")),
)  # fmt: skip
