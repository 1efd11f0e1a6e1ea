"""Written after the code: Falcon and Gemma 2 in litgpt, x-transformers, BART of torch's layers."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
import transformers
from litgpt.config import Config
from litgpt.model import GPT
from torch import nn
from x_transformers import Decoder, TransformerWrapper

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
from evaluation.ports.packages.language import (
    GROUPS,
    HEADS,
    HIDDEN,
    LAYERS,
    LENGTH,
    LITGPT,
    LLAMA,
    SPREAD,
    VOCABULARY,
    WIDTH,
    loss,
)

# --- Falcon: one key for all heads, one norm for both branches ------------------------------------


def _falcon() -> nn.Module:
    return transformers.FalconForCausalLM(
        transformers.FalconConfig(
            vocab_size=VOCABULARY,
            hidden_size=WIDTH,
            num_hidden_layers=LAYERS,
            num_attention_heads=HEADS,
            multi_query=True,
            parallel_attn=True,
            new_decoder_architecture=False,
            initializer_range=SPREAD,
            use_cache=False,
        )
    )


_FALCON = [
    (r"transformer\.word_embeddings\.weight", r"transformer.wte.weight"),
    (r"transformer\.ln_f\.(\w+)", r"transformer.ln_f.\1"),
    (r"transformer\.h\.(\d+)\.input_layernorm\.(\w+)", r"transformer.h.\1.norm_1.\2"),
    (
        r"transformer\.h\.(\d+)\.self_attention\.query_key_value\.weight",
        r"transformer.h.\1.attn.qkv.weight",
    ),
    (r"transformer\.h\.(\d+)\.self_attention\.dense\.weight", r"transformer.h.\1.attn.proj.weight"),
    (r"transformer\.h\.(\d+)\.mlp\.dense_h_to_4h\.weight", r"transformer.h.\1.mlp.fc.weight"),
    (r"transformer\.h\.(\d+)\.mlp\.dense_4h_to_h\.weight", r"transformer.h.\1.mlp.proj.weight"),
]


def _to_falcon(weights: Weights) -> Weights:
    found = renamed(weights, _FALCON)
    found["lm_head.weight"] = weights["transformer.word_embeddings.weight"]
    return found


FALCON_LITGPT = port_of(
    "transformers Falcon, litgpt",
    _falcon,
    lambda: GPT(
        Config(
            **LITGPT,
            n_query_groups=1,
            rotary_percentage=1.0,
            parallel_residual=True,
            shared_attention_norm=True,
            bias=False,
            norm_class_name="LayerNorm",
            mlp_class_name="GptNeoxMLP",
        )
    ),
    _to_falcon,
    loss,
    {
        "tanh for gelu": Fault(
            "transformer.h.1.mlp",
            replace_forward(lambda forward, x: _tanh_mlp(forward.__self__, x)),
        ),
        "values negated": Fault(
            "transformer.h.2.attn", replace_forward(lambda f, x, *a, **k: -f(x, *a, **k))
        ),
    },
)


def _tanh_mlp(mlp: Any, x: torch.Tensor) -> Any:
    return mlp.proj(torch.tanh(mlp.fc(x)))


# --- Gemma 2: four norms, capped scores, scaled embeddings ----------------------------------------


def _gemma() -> nn.Module:
    return transformers.Gemma2ForCausalLM(
        transformers.Gemma2Config(
            **{**LLAMA, "rms_norm_eps": 1e-5},
            head_dim=8,
            query_pre_attn_scalar=8,
            sliding_window=32,
            attn_implementation="eager",
        )
    )


_GEMMA = [
    (r"model\.embed_tokens\.weight", r"transformer.wte.weight"),
    (r"model\.norm\.weight", r"transformer.ln_f.weight"),
    (r"model\.layers\.(\d+)\.input_layernorm\.weight", r"transformer.h.\1.norm_1.weight"),
    (
        r"model\.layers\.(\d+)\.post_attention_layernorm\.weight",
        r"transformer.h.\1.post_attention_norm.weight",
    ),
    (r"model\.layers\.(\d+)\.pre_feedforward_layernorm\.weight", r"transformer.h.\1.norm_2.weight"),
    (
        r"model\.layers\.(\d+)\.post_feedforward_layernorm\.weight",
        r"transformer.h.\1.post_mlp_norm.weight",
    ),
    (r"model\.layers\.(\d+)\.self_attn\.o_proj\.weight", r"transformer.h.\1.attn.proj.weight"),
    (r"model\.layers\.(\d+)\.self_attn\.(.)_proj\.weight", r"transformer.h.\1.attn.\2_proj.weight"),
    (r"model\.layers\.(\d+)\.mlp\.gate_proj\.weight", r"transformer.h.\1.mlp.fc_1.weight"),
    (r"model\.layers\.(\d+)\.mlp\.up_proj\.weight", r"transformer.h.\1.mlp.fc_2.weight"),
    (r"model\.layers\.(\d+)\.mlp\.down_proj\.weight", r"transformer.h.\1.mlp.proj.weight"),
]


def _to_gemma(weights: Weights) -> Weights:
    found = renamed(weights, _GEMMA)
    joined(found, (".q_proj.", ".k_proj.", ".v_proj."), ".qkv.")
    found["lm_head.weight"] = weights["model.embed_tokens.weight"]
    return found


def _uncapped(attention: Any) -> None:
    plain = attention.scaled_dot_product_attention
    attention.scaled_dot_product_attention = lambda q, *rest: plain(q * 2.0, *rest)


GEMMA_LITGPT = port_of(
    "transformers Gemma 2, litgpt",
    _gemma,
    lambda: GPT(
        Config.from_name(
            "Gemma-2-2b",
            **{**LITGPT, "n_query_groups": GROUPS},
            head_size=8,
            intermediate_size=HIDDEN,
            sliding_window_size=32,
            attention_scores_scalar=8,
        )
    ),
    _to_gemma,
    loss,
    {
        "cap forgotten": Fault("transformer.h.1.attn", _uncapped),
        "norm scaled": Fault(
            "transformer.h.1.post_mlp_norm", replace_forward(lambda forward, x: forward(x) * 1.3)
        ),
    },
)


# --- x-transformers: attention and feed-forward as a list of pairs --------------------------------


def _llama_of_pairs() -> nn.Module:
    # The root of x-transformers' norm has no epsilon.
    alone = {**LLAMA, "rms_norm_eps": 0.0, "num_key_value_heads": HEADS}
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**alone))


def _in_pairs(weight: torch.Tensor) -> torch.Tensor:
    """Rows of each head so that the halves that are turned together stand side by side."""
    head = WIDTH // HEADS
    return weight.unflatten(0, (-1, 2, head // 2)).transpose(1, 2).flatten(0, 2)


def _to_pairs(weights: Weights) -> Weights:
    found = {
        "token_emb.emb.weight": weights["model.embed_tokens.weight"],
        "attn_layers.final_norm.g": weights["model.norm.weight"] - 1.0,  # one is added to it
        "to_logits.weight": weights["lm_head.weight"],
    }
    for layer in range(LAYERS):
        was, attn, mlp = f"model.layers.{layer}", 2 * layer, 2 * layer + 1
        found[f"attn_layers.layers.{attn}.0.0.g"] = weights[f"{was}.input_layernorm.weight"] - 1.0
        found[f"attn_layers.layers.{mlp}.0.0.g"] = (
            weights[f"{was}.post_attention_layernorm.weight"] - 1.0
        )
        for letter in "qkv":
            weight = weights[f"{was}.self_attn.{letter}_proj.weight"]
            made = weight if letter == "v" else _in_pairs(weight)
            found[f"attn_layers.layers.{attn}.1.to_{letter}.weight"] = made
        found[f"attn_layers.layers.{attn}.1.to_out.weight"] = weights[
            f"{was}.self_attn.o_proj.weight"
        ]
        gate, up = weights[f"{was}.mlp.gate_proj.weight"], weights[f"{was}.mlp.up_proj.weight"]
        found[f"attn_layers.layers.{mlp}.1.ff.0.proj.weight"] = torch.cat((up, gate))
        found[f"attn_layers.layers.{mlp}.1.ff.0.proj.bias"] = torch.zeros(2 * HIDDEN)
        found[f"attn_layers.layers.{mlp}.1.ff.2.weight"] = weights[f"{was}.mlp.down_proj.weight"]
    return found


LLAMA_PAIRS = port_of(
    "transformers Llama, x-transformers",
    _llama_of_pairs,
    lambda: TransformerWrapper(
        num_tokens=VOCABULARY,
        max_seq_len=32,
        use_abs_pos_emb=False,
        attn_layers=Decoder(
            dim=WIDTH,
            depth=LAYERS,
            heads=HEADS,
            attn_dim_head=WIDTH // HEADS,
            rotary_pos_emb=True,
            rotary_emb_dim=WIDTH // HEADS,
            use_rmsnorm=True,
            ff_glu=True,
            ff_swish=True,
            ff_no_bias=True,
            ff_mult=HIDDEN // WIDTH,
        ),
    ),
    _to_pairs,
    loss,
    {
        "output scaled": Fault("attn_layers.layers.2.1.to_out", scale_parameter("weight", 1.2)),
        "input scaled": Fault(
            "attn_layers.layers.2.1", replace_forward(lambda f, x, *a, **k: f(x * 1.5, *a, **k))
        ),
    },
    ("float32",),  # its norm multiplies by a float32 root
)

# --- BART: an encoder and a decoder of torch ------------------------------------------------------

TEXT, BART_WIDTH, BART_LAYERS = 60, 32, 2


def _bart() -> nn.Module:
    return transformers.BartForConditionalGeneration(
        transformers.BartConfig(
            vocab_size=TEXT,
            d_model=BART_WIDTH,
            encoder_layers=BART_LAYERS,
            decoder_layers=BART_LAYERS,
            encoder_attention_heads=4,
            decoder_attention_heads=4,
            encoder_ffn_dim=64,
            decoder_ffn_dim=64,
            max_position_embeddings=16,
            init_std=SPREAD,
            use_cache=False,
            dropout=0.0,
            forced_eos_token_id=None,
        )
    )


class TorchBart(nn.Module):
    """BART of torch's own layers."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(TEXT, BART_WIDTH)
        self.places = nn.ModuleList(nn.Embedding(18, BART_WIDTH) for _ in range(2))
        self.entry_norms = nn.ModuleList(nn.LayerNorm(BART_WIDTH) for _ in range(2))
        options: dict[str, Any] = {"dropout": 0.0, "activation": "gelu", "batch_first": True}
        self.encoder = nn.ModuleList(
            nn.TransformerEncoderLayer(BART_WIDTH, 4, 64, **options) for _ in range(BART_LAYERS)
        )
        self.decoder = nn.ModuleList(
            nn.TransformerDecoderLayer(BART_WIDTH, 4, 64, **options) for _ in range(BART_LAYERS)
        )

    def forward(self, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        memory, x = self._entered(source, 0), self._entered(target, 1)
        for layer in self.encoder:
            memory = layer(memory)
        length = target.shape[1]
        mask = torch.full((length, length), float("-inf")).triu(1).to(x.dtype)
        for layer in self.decoder:
            x = layer(x, memory, tgt_mask=mask)
        return F.linear(x, self.tokens.weight)

    def _entered(self, tokens: torch.Tensor, side: int) -> torch.Tensor:
        places = self.places[side](torch.arange(tokens.shape[1]) + 2)
        made: torch.Tensor = self.entry_norms[side](self.tokens(tokens) + places)
        return made


_BART = [
    (r"model\.shared\.weight", r"tokens.weight"),
    (r"model\.encoder\.embed_positions\.weight", r"places.0.weight"),
    (r"model\.decoder\.embed_positions\.weight", r"places.1.weight"),
    (r"model\.encoder\.layernorm_embedding\.(\w+)", r"entry_norms.0.\1"),
    (r"model\.decoder\.layernorm_embedding\.(\w+)", r"entry_norms.1.\1"),
    (r"model\.(\w+)\.layers\.(\d+)\.self_attn\.out_proj\.(\w+)", r"\1.\2.self_attn.out_proj.\3"),
    (
        r"model\.(\w+)\.layers\.(\d+)\.encoder_attn\.out_proj\.(\w+)",
        r"\1.\2.multihead_attn.out_proj.\3",
    ),
    (r"model\.(\w+)\.layers\.(\d+)\.self_attn\.(.)_proj\.(\w+)", r"\1.\2.self_attn.\3_proj_\4"),
    (
        r"model\.(\w+)\.layers\.(\d+)\.encoder_attn\.(.)_proj\.(\w+)",
        r"\1.\2.multihead_attn.\3_proj_\4",
    ),
    (r"model\.(\w+)\.layers\.(\d+)\.self_attn_layer_norm\.(\w+)", r"\1.\2.norm1.\3"),
    (r"model\.(\w+)\.layers\.(\d+)\.encoder_attn_layer_norm\.(\w+)", r"\1.\2.norm2.\3"),
    (r"model\.encoder\.layers\.(\d+)\.final_layer_norm\.(\w+)", r"encoder.\1.norm2.\2"),
    (r"model\.decoder\.layers\.(\d+)\.final_layer_norm\.(\w+)", r"decoder.\1.norm3.\2"),
    (r"model\.(\w+)\.layers\.(\d+)\.fc(\d)\.(\w+)", r"\1.\2.linear\3.\4"),
]


def _translation_loss(model: nn.Module) -> torch.Tensor:
    torch.manual_seed(8)
    source, target = torch.randint(4, TEXT, (2, 10)), torch.randint(4, TEXT, (2, 9))
    if isinstance(model, TorchBart):
        logits = model(source, target[:, :-1])
    else:
        logits = model(input_ids=source, decoder_input_ids=target[:, :-1]).logits
    return F.cross_entropy(logits.float().flatten(0, 1), target[:, 1:].flatten())


def _query_as_memory(forward: Any, query: torch.Tensor, key: Any, value: Any, **named: Any) -> Any:
    return forward(query, key.roll(1, 1), value, **named)


BART = port_of(
    "transformers BART, torch's layers",
    _bart,
    TorchBart,
    converting(_BART, (".q_proj_", ".k_proj_", ".v_proj_"), ".in_proj_"),
    _translation_loss,
    {
        "memory shifted": Fault("decoder.1.multihead_attn", replace_forward(_query_as_memory)),
        "relu": Fault("encoder.0", set_attribute("activation", F.relu)),
        "norm's weight scaled": Fault("encoder.1.norm2", scale_parameter("weight", 1.3)),
    },
)

PORTS = [FALCON_LITGPT, GEMMA_LITGPT, LLAMA_PAIRS, BART]
assert LENGTH < 32
