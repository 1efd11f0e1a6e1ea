"""Language models: transformers against litgpt, and fused against plain inside transformers."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
import transformers
from litgpt.config import Config
from litgpt.model import GPT
from torch import nn

from evaluation.ports.packages.conversion import (
    Fault,
    Weights,
    converting,
    joined,
    port_of,
    renamed,
    replace_forward,
    scale_parameter,
    set_attribute,
)

VOCABULARY, WIDTH, HEADS, GROUPS, HIDDEN, LAYERS, LENGTH = 80, 48, 6, 2, 96, 3, 12
SPREAD = 0.2  # of drawn weights: with that of large models scores are all but equal in small ones
LLAMA: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": WIDTH,
    "intermediate_size": HIDDEN,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "num_key_value_heads": GROUPS,
    "rms_norm_eps": 1e-5,
    "use_cache": False,
    "pad_token_id": 0,
    "initializer_range": SPREAD,
    "rope_theta": 10000.0,
}
LITGPT: dict[str, Any] = {
    "block_size": 64,
    "vocab_size": VOCABULARY,
    "padded_vocab_size": VOCABULARY,
    "n_layer": LAYERS,
    "n_head": HEADS,
    "n_embd": WIDTH,
    "norm_eps": 1e-5,
}
GATED = {
    **LITGPT,
    "n_query_groups": GROUPS,
    "rotary_percentage": 1.0,
    "parallel_residual": False,
    "bias": False,
    "norm_class_name": "RMSNorm",
    "intermediate_size": HIDDEN,
}


def loss(model: nn.Module) -> torch.Tensor:
    """The mean loss of two rows of tokens."""
    torch.manual_seed(3)
    tokens = torch.randint(1, VOCABULARY, (2, LENGTH + 1))
    made = model(tokens[:, :-1])
    logits = getattr(made, "logits", made)
    return F.cross_entropy(logits.float().flatten(0, 1), tokens[:, 1:].flatten())


def _llama() -> nn.Module:
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**LLAMA))


_TO_LITGPT = [
    (r"model\.embed_tokens\.weight", r"transformer.wte.weight"),
    (r"model\.norm\.weight", r"transformer.ln_f.weight"),
    (r"lm_head\.weight", r"lm_head.weight"),
    (r"model\.layers\.(\d+)\.input_layernorm\.weight", r"transformer.h.\1.norm_1.weight"),
    (r"model\.layers\.(\d+)\.post_attention_layernorm\.weight", r"transformer.h.\1.norm_2.weight"),
    (r"model\.layers\.(\d+)\.self_attn\.o_proj\.weight", r"transformer.h.\1.attn.proj.weight"),
    (r"model\.layers\.(\d+)\.self_attn\.(.)_proj\.weight", r"transformer.h.\1.attn.\2_proj.weight"),
    (r"model\.layers\.(\d+)\.mlp\.gate_proj\.weight", r"transformer.h.\1.mlp.fc_1.weight"),
    (r"model\.layers\.(\d+)\.mlp\.up_proj\.weight", r"transformer.h.\1.mlp.fc_2.weight"),
    (r"model\.layers\.(\d+)\.mlp\.down_proj\.weight", r"transformer.h.\1.mlp.proj.weight"),
    (r"model\.layers\.(\d+)\.mlp\.gate\.weight", r"transformer.h.\1.mlp.gate.weight"),
    (r"model\.layers\.(\d+)\.mlp\.experts\.(\w+)", r"transformer.h.\1.mlp.experts.\2"),
]


_to_litgpt = converting(_TO_LITGPT, (".q_proj.", ".k_proj.", ".v_proj."), ".qkv.")


def _half_turned(forward: Any, x: torch.Tensor, *rest: Any, **named: Any) -> Any:
    return forward(x.roll(1, 1), *rest, **named)


def _scaled(attention: nn.Module) -> None:
    """The scores of an attention are divided by the head's size and not by its root."""
    plain = attention.scaled_dot_product_attention

    def scaled(q: torch.Tensor, *rest: Any) -> Any:
        return plain(q / (WIDTH // HEADS) ** 0.5, *rest)

    attention.scaled_dot_product_attention = scaled  # type: ignore[assignment]


_LITGPT_FAULTS = {
    "scale": Fault("transformer.h.1.attn", _scaled),
    "other activation": Fault(
        "transformer.h.2.mlp", replace_forward(lambda forward, x: _other_mlp(forward.__self__, x))
    ),
    "epsilon": Fault("transformer.h.1.norm_2", set_attribute("eps", 8.0)),
}


def _other_mlp(mlp: Any, x: torch.Tensor) -> Any:
    return mlp.proj(F.gelu(mlp.fc_1(x)) * mlp.fc_2(x))


LLAMA_LITGPT = port_of(
    "transformers Llama, litgpt",
    _llama,
    lambda: GPT(Config(**GATED, mlp_class_name="LLaMAMLP")),
    _to_litgpt,
    loss,
    _LITGPT_FAULTS,
)


# --- GPT-NeoX: fused on both sides, in another order ----------------------------------------------


def _neox() -> nn.Module:
    return transformers.GPTNeoXForCausalLM(
        transformers.GPTNeoXConfig(
            vocab_size=VOCABULARY,
            hidden_size=WIDTH,
            intermediate_size=4 * WIDTH,
            num_hidden_layers=LAYERS,
            num_attention_heads=HEADS,
            rotary_pct=0.25,
            initializer_range=SPREAD,
            use_cache=False,
        )
    )


_NEOX = [
    (r"gpt_neox\.embed_in\.weight", r"transformer.wte.weight"),
    (r"gpt_neox\.final_layer_norm\.(\w+)", r"transformer.ln_f.\1"),
    (r"(?:embed_out|lm_head)\.weight", r"lm_head.weight"),
    (r"gpt_neox\.layers\.(\d+)\.input_layernorm\.(\w+)", r"transformer.h.\1.norm_1.\2"),
    (r"gpt_neox\.layers\.(\d+)\.post_attention_layernorm\.(\w+)", r"transformer.h.\1.norm_2.\2"),
    (
        r"gpt_neox\.layers\.(\d+)\.attention\.query_key_value\.(\w+)",
        r"transformer.h.\1.attn.qkv.\2",
    ),
    (r"gpt_neox\.layers\.(\d+)\.attention\.dense\.(\w+)", r"transformer.h.\1.attn.proj.\2"),
    (r"gpt_neox\.layers\.(\d+)\.mlp\.dense_h_to_4h\.(\w+)", r"transformer.h.\1.mlp.fc.\2"),
    (r"gpt_neox\.layers\.(\d+)\.mlp\.dense_4h_to_h\.(\w+)", r"transformer.h.\1.mlp.proj.\2"),
]


def _neox_to_litgpt(weights: Weights) -> Weights:
    found = renamed(weights, _NEOX)
    for name in [each for each in found if ".qkv." in each]:  # head by head: q, k, v
        found[name] = found[name].unflatten(0, (HEADS, 3, -1)).transpose(0, 1).flatten(0, 2)
    return found


NEOX_LITGPT = port_of(
    "transformers GPT-NeoX, litgpt",
    _neox,
    lambda: GPT(
        Config(
            **LITGPT,
            rotary_percentage=0.25,
            parallel_residual=True,
            bias=True,
            norm_class_name="LayerNorm",
            mlp_class_name="GptNeoxMLP",
        )
    ),
    _neox_to_litgpt,
    loss,
    {
        "scale": _LITGPT_FAULTS["scale"],
        "bias forgotten": Fault("transformer.h.1.mlp.proj", scale_parameter("bias", 0.0)),
        "tokens shifted": Fault("transformer.h.1.attn", replace_forward(_half_turned)),
    },
)


# --- experts, stacked and listed ------------------------------------------------------------------


def _mixtral() -> nn.Module:
    return transformers.MixtralForCausalLM(
        transformers.MixtralConfig(**LLAMA, num_local_experts=4, num_experts_per_tok=2)
    )


def _listed_experts(weights: Weights) -> Weights:
    found = _to_litgpt(weights)
    for name in [each for each in found if each.endswith("experts.gate_up_proj")]:
        above = name.removesuffix("gate_up_proj")
        for expert, both in enumerate(found.pop(name)):
            gate, up = both.chunk(2)
            found[f"{above}{expert}.fc_1.weight"] = gate
            found[f"{above}{expert}.fc_2.weight"] = up
        for expert, down in enumerate(found.pop(f"{above}down_proj")):
            found[f"{above}{expert}.proj.weight"] = down
    return found


MIXTRAL_LITGPT = port_of(
    "transformers Mixtral, litgpt",
    _mixtral,
    lambda: GPT(Config(**GATED, mlp_class_name="LLaMAMoE", n_expert=4, n_expert_per_token=2)),
    _listed_experts,
    loss,
    {
        "expert scaled": Fault(
            # The original's experts are one weight, which no part can be held against.
            "transformer.h.1.mlp.experts.2.proj",
            scale_parameter("weight", 1.2),
            "transformer.h.1.mlp",
        ),
        "shares not normalised": Fault(
            "transformer.h.0.mlp", replace_forward(lambda forward, x: forward(x) * 0.7)
        ),
        "epsilon": _LITGPT_FAULTS["epsilon"],
    },
)


# --- fused against plain, both of transformers ----------------------------------------------------


def _to_phi3(weights: Weights) -> Weights:
    found = dict(weights)
    joined(found, (".q_proj.", ".k_proj.", ".v_proj."), ".qkv_proj.")
    joined(found, (".gate_proj.", ".up_proj."), ".gate_up_proj.")
    return found


LLAMA_PHI3 = port_of(
    "transformers Llama, Phi-3",
    _llama,
    lambda: transformers.Phi3ForCausalLM(transformers.Phi3Config(**LLAMA)),
    _to_phi3,
    loss,
    {
        # The two share their names, and are compared call by call.
        "scale": Fault(
            "model.layers.1.self_attn",
            set_attribute("scaling", 0.2),
            "Functional.scaled_dot_product_attention.1",
        ),
        "other activation": Fault(
            "model.layers.1.mlp",
            set_attribute("activation_fn", nn.GELU()),
            "model.layers.1.mlp.activation_fn",
        ),
        "weight scaled": Fault("model.layers.2.mlp.down_proj", scale_parameter("weight", 1.1)),
    },
)

PORTS = [LLAMA_LITGPT, NEOX_LITGPT, MIXTRAL_LITGPT, LLAMA_PHI3]
