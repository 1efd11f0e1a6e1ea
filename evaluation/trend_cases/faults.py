"""Twelve faults for three models each; those in HELD were not looked at while rules were made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

At = Callable[[int], bool]


@dataclass(frozen=True)
class Fault:
    """What goes wrong from `step` on (`once`: in that step alone), and where that shows first.

    `targets`: what an alert may name, by the beginning of kind and name. `late`: so many steps may
    pass until it shows. `ends`: the models whose training it ends by an error of torch's own.
    """

    name: str
    targets: tuple[str, ...]
    before: Callable[[Scene], None] = lambda scene: None
    loss: Callable[[torch.Tensor], torch.Tensor] = lambda loss: loss
    gradients: Callable[[Scene], None] = lambda scene: None
    once: bool = True
    late: int = 0
    step: int = 150
    ends: tuple[str, ...] = ()


@dataclass
class Scene:
    """What a fault can reach: the module that it is about, its parameters, the optimizer."""

    model: nn.Module
    module: nn.Module
    optimizer: torch.optim.Optimizer
    batch: list[torch.Tensor]

    @property
    def weight(self) -> torch.Tensor:
        """The weight of the module."""
        return self.module.weight  # type: ignore[return-value]


def scale_weight(factor: float) -> Callable[[Scene], None]:
    def change(scene: Scene) -> None:
        with torch.no_grad():
            scene.weight.mul_(factor)

    return change


def silence(scene: Scene) -> None:
    with torch.no_grad():
        scene.weight.zero_()
        scene.module.bias.zero_()


def rate(factor: float) -> Callable[[Scene], None]:
    def change(scene: Scene) -> None:
        for group in scene.optimizer.param_groups:
            group["lr"] *= factor

    return change


def scale_output(factor: float) -> Callable[[Scene], None]:
    def change(scene: Scene) -> None:
        scene.module.register_forward_hook(lambda _m, _a, output: output * factor, prepend=True)

    return change


def gradient(change: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[Scene], None]:
    def apply(scene: Scene) -> None:
        scene.weight.grad = change(scene.weight.grad)

    return apply


def forget_squares(scene: Scene) -> None:
    for key in ("exp_avg_sq", "momentum_buffer"):
        state = scene.optimizer.state[scene.weight]
        if key in state:
            state[key].mul_(1e-6 if key == "exp_avg_sq" else 1e3)


def detach(scene: Scene) -> None:
    scene.module.register_forward_hook(lambda _m, _a, output: output.detach(), prepend=True)


def break_batch(scene: Scene) -> None:
    first = scene.batch[0]
    if first.is_floating_point():
        first.mul_(300)
    else:
        scene.batch[1].copy_(torch.full_like(scene.batch[1], 1))


def infinite(tensor: torch.Tensor) -> torch.Tensor:
    tensor = tensor.clone()
    tensor.view(-1)[3] = torch.inf
    return tensor


LATE = 16
FAULTS = (
    Fault("loss x30", ("loss",), loss=lambda loss: loss * 30),
    Fault("NaN in a gradient", ("grad {}.weight",), gradients=gradient(lambda g: g * torch.nan)),
    Fault("rate x100", ("ratio", "exp_avg"), before=rate(100), once=True),
    Fault("weights x1000", ("actv {}",), before=scale_weight(1000)),
    Fault(
        "weights grow",
        ("param {}.weight", "actv {}", "ratio {}.weight"),
        before=scale_weight(1.03),
        once=False,
        late=80,
    ),
    Fault("layer silent", ("actv {}", "grad {}", "ratio {}", "param {}"), before=silence, late=3),
    Fault("output x8", ("actv {}",), before=scale_output(8.0)),
    Fault("gradient x50", ("grad {}.weight",), gradients=gradient(lambda g: g * 50)),
    Fault(
        "detached",
        ("actv_grad {}", "grad {}", "exp_avg", "actv_grad"),
        before=detach,
        late=LATE,
        ends=("recurrent",),  # of its last layer: no loss has a gradient
    ),
)
HELD = (
    Fault("bad batch", ("actv", "loss"), before=break_batch),
    Fault(
        "second moment lost",
        ("ratio {}.weight", "exp_avg {}.weight", "exp_avg_sq {}.weight"),
        before=forget_squares,
        late=1,
    ),
    Fault("infinity in a gradient", ("grad {}.weight",), gradients=gradient(infinite)),
)
SMALL = (
    Fault("output x1.05", ("actv {}",), before=scale_output(1.05)),
    Fault("weights x1.1", ("actv {}",), before=scale_weight(1.1)),
    Fault("gradient x1.5", ("grad {}.weight",), gradients=gradient(lambda g: g * 1.5)),
    Fault("another batch", ("actv", "loss"), before=break_batch),
)
"""For two runs held against each other; none of them would be an alert of one run but the last."""
PLACES = {"language": "layers.1.mlp.fc1", "vision": "layers.1.conv1", "recurrent": "head"}
