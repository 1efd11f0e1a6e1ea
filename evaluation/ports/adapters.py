"""A decoder with low-rank adapters; its port has them folded into the weights that they adapt."""

from __future__ import annotations

import torch
from torch import nn

from evaluation.ports import decoder
from evaluation.ports.port import Port, taken

RANK, SCALE = 4, 2.0
ADAPTED = ("self_attn.q_proj", "self_attn.v_proj", "mlp.up_proj")


class Adapted(nn.Module):
    """A linear layer, and a narrow way around it."""

    def __init__(self, base: nn.Linear) -> None:
        super().__init__()
        self.base = base
        self.lora_a = nn.Linear(base.in_features, RANK, bias=False)
        self.lora_b = nn.Linear(RANK, base.out_features, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.base(x) + self.lora_b(self.lora_a(x)) * SCALE

    def folded(self, scale: float = SCALE) -> torch.Tensor:
        """The weight of one linear layer that does the same."""
        both = self.lora_b.weight.float() @ self.lora_a.weight.float()
        return self.base.weight.float() + scale * both


def original() -> nn.Module:
    """The decoder, its projections adapted by more than rounding."""
    model = decoder.CausalLM()
    for layer in model.model.layers:
        for path in ADAPTED:
            around, _, name = path.rpartition(".")
            owner = layer.get_submodule(around)
            setattr(owner, name, Adapted(getattr(owner, name)))
    return model


def ported(was: nn.Module, fault: str | None) -> nn.Module:
    """The decoder without adapters, and with the modules of the original."""
    assert isinstance(was, decoder.CausalLM)
    port = decoder.CausalLM().to(was.lm_head.weight.dtype)
    for name, parameter in port.named_parameters():
        around, _, own = name.rpartition(".")
        module = was.get_submodule(around)
        if not isinstance(module, Adapted):
            taken(parameter, getattr(module, own))
            continue
        is_wrong = "layers.1" in name and fault is not None
        scale = SCALE
        if is_wrong and fault == "scale forgotten" and "up_proj" in name:
            scale = 1.0
        value = module.folded(scale)
        if is_wrong and fault == "adapter left out" and "q_proj" in name:
            value = module.base.weight.float()
        taken(parameter, value)
    return port


# The two are compared as one program, call by call: of layer 1 the projections are these calls.
PORT = Port(
    "adapters",
    original,
    ported,
    decoder.loss,
    {
        "scale forgotten": "Functional.linear.12 or model.layers.1.mlp.up_proj",
        "adapter left out": "Functional.linear.7 or model.layers.1.self_attn.q_proj",
    },
)
