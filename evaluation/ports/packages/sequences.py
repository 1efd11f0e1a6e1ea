"""Sequences that are no plain decoder: speech to text, proteins, the text of images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
import transformers
from esm.model.esm2 import ESM2
from open_clip.transformer import TextTransformer
from torch import nn
from whisper.model import ModelDimensions, Whisper

from evaluation.ports.packages.conversion import (
    Fault,
    Rename,
    Weights,
    converting,
    port_of,
    renamed,
    replace_forward,
    scale_parameter,
    set_attribute,
)

VOCABULARY, WIDTH, HEADS, LAYERS, LENGTH = 80, 32, 4, 2, 12
MELS, FRAMES = 8, 32
SPREAD = 0.2  # of drawn weights: with that of large models scores are all but equal in small ones

# --- Whisper: an encoder and a decoder ------------------------------------------------------------


def _whisper() -> nn.Module:
    return transformers.WhisperForConditionalGeneration(
        transformers.WhisperConfig(
            vocab_size=VOCABULARY,
            d_model=WIDTH,
            encoder_layers=LAYERS,
            decoder_layers=LAYERS,
            encoder_attention_heads=HEADS,
            decoder_attention_heads=HEADS,
            encoder_ffn_dim=4 * WIDTH,
            decoder_ffn_dim=4 * WIDTH,
            num_mel_bins=MELS,
            max_source_positions=FRAMES // 2,
            max_target_positions=LENGTH,
            pad_token_id=0,
            bos_token_id=1,
            eos_token_id=2,
            decoder_start_token_id=1,
            use_cache=False,
            init_std=SPREAD,
        )
    ).eval()


def _openai_whisper() -> nn.Module:
    model = Whisper(
        ModelDimensions(
            n_mels=MELS,
            n_audio_ctx=FRAMES // 2,
            n_audio_state=WIDTH,
            n_audio_head=HEADS,
            n_audio_layer=LAYERS,
            n_vocab=VOCABULARY,
            n_text_ctx=LENGTH,
            n_text_state=WIDTH,
            n_text_head=HEADS,
            n_text_layer=LAYERS,
        )
    )
    return model.eval()


_KIND = {"q": "query", "k": "key", "v": "value", "out": "out"}
_WHISPER = [
    (r"model\.(\w+)\.conv(\d)\.(\w+)", r"\1.conv\2.\3"),
    (r"model\.decoder\.embed_tokens\.weight", r"decoder.token_embedding.weight"),
    (r"model\.decoder\.embed_positions\.weight", r"decoder.positional_embedding"),
    (r"model\.encoder\.layer_norm\.(\w+)", r"encoder.ln_post.\1"),
    (r"model\.decoder\.layer_norm\.(\w+)", r"decoder.ln.\1"),
    *(
        (
            rf"model\.(\w+)\.layers\.(\d+)\.{theirs}\.{short}_?proj\.(\w+)",
            rf"\1.blocks.\2.{ours}.{long}.\3",
        )
        for theirs, ours in (("self_attn", "attn"), ("encoder_attn", "cross_attn"))
        for short, long in _KIND.items()
    ),
    (r"model\.(\w+)\.layers\.(\d+)\.self_attn_layer_norm\.(\w+)", r"\1.blocks.\2.attn_ln.\3"),
    (
        r"model\.(\w+)\.layers\.(\d+)\.encoder_attn_layer_norm\.(\w+)",
        r"\1.blocks.\2.cross_attn_ln.\3",
    ),
    (r"model\.(\w+)\.layers\.(\d+)\.final_layer_norm\.(\w+)", r"\1.blocks.\2.mlp_ln.\3"),
    (r"model\.(\w+)\.layers\.(\d+)\.fc1\.(\w+)", r"\1.blocks.\2.mlp.0.\3"),
    (r"model\.(\w+)\.layers\.(\d+)\.fc2\.(\w+)", r"\1.blocks.\2.mlp.2.\3"),
]


def _speech_loss(model: nn.Module) -> torch.Tensor:
    torch.manual_seed(4)
    dtype = next(model.parameters()).dtype
    mel = torch.randn(2, MELS, FRAMES).to(dtype)
    tokens = torch.randint(3, VOCABULARY, (2, LENGTH + 1))
    if isinstance(model, Whisper):
        logits = model(mel, tokens[:, :-1])
    else:
        logits = model(input_features=mel, decoder_input_ids=tokens[:, :-1]).logits
    return F.cross_entropy(logits.float().flatten(0, 1), tokens[:, 1:].flatten())


def _no_causal_mask(
    forward: Any, x: torch.Tensor, xa: Any = None, mask: Any = None, **named: Any
) -> Any:
    return forward(x, xa, mask=None, **named)


WHISPER = port_of(
    "transformers Whisper, openai-whisper",
    _whisper,
    _openai_whisper,
    lambda weights: renamed(weights, _WHISPER),
    _speech_loss,
    {
        "no mask": Fault("decoder.blocks.1.attn", replace_forward(_no_causal_mask)),
        "encoder's activation": Fault(
            "encoder.blocks.1.mlp",
            lambda mlp: mlp.__setitem__(1, nn.ReLU()),
            "encoder.blocks.1.mlp.1 or encoder.blocks.1.mlp",
        ),
        "cross weight scaled": Fault(
            "decoder.blocks.0.cross_attn.value", scale_parameter("weight", 1.1)
        ),
    },
    ("float32",),  # openai's norms compute in float32 with weights of float32
)

# --- proteins -------------------------------------------------------------------------------------

RESIDUES = 33


def _esm() -> nn.Module:
    return transformers.EsmForMaskedLM(
        transformers.EsmConfig(
            vocab_size=RESIDUES,
            hidden_size=WIDTH,
            num_hidden_layers=LAYERS,
            num_attention_heads=HEADS,
            intermediate_size=4 * WIDTH,
            position_embedding_type="rotary",
            pad_token_id=1,
            mask_token_id=32,
            token_dropout=True,
            emb_layer_norm_before=False,
            layer_norm_eps=1e-5,
            initializer_range=SPREAD,
        )
    ).eval()


_ESM = [
    (r"esm\.embeddings\.word_embeddings\.weight", r"embed_tokens.weight"),
    (
        r"esm\.encoder\.layer\.(\d+)\.attention\.self\.(query|key|value)\.(\w+)",
        r"layers.\1.self_attn.\2.\3",
    ),
    (
        r"esm\.encoder\.layer\.(\d+)\.attention\.output\.dense\.(\w+)",
        r"layers.\1.self_attn.out_proj.\2",
    ),
    (
        r"esm\.encoder\.layer\.(\d+)\.attention\.LayerNorm\.(\w+)",
        r"layers.\1.self_attn_layer_norm.\2",
    ),
    (r"esm\.encoder\.layer\.(\d+)\.intermediate\.dense\.(\w+)", r"layers.\1.fc1.\2"),
    (r"esm\.encoder\.layer\.(\d+)\.output\.dense\.(\w+)", r"layers.\1.fc2.\2"),
    (r"esm\.encoder\.layer\.(\d+)\.LayerNorm\.(\w+)", r"layers.\1.final_layer_norm.\2"),
    (r"esm\.encoder\.emb_layer_norm_after\.(\w+)", r"emb_layer_norm_after.\1"),
    (r"esm\.(contact_head\.regression\.\w+)", r"\1"),
    (r"(lm_head\..*)", r"\1"),
]


def _to_fair(weights: Weights) -> Weights:
    found = renamed(weights, _ESM)
    for long, short in (("query", "q_proj"), ("key", "k_proj"), ("value", "v_proj")):
        for name in [each for each in found if f".{long}." in each]:
            found[name.replace(long, short)] = found.pop(name)
    found["lm_head.weight"] = found["embed_tokens.weight"]
    return found


def _protein_loss(model: nn.Module) -> torch.Tensor:
    torch.manual_seed(5)
    tokens = torch.randint(4, 24, (2, LENGTH))
    made = model(tokens)
    logits = made["logits"] if isinstance(model, ESM2) else made.logits
    return F.cross_entropy(logits.float().flatten(0, 1), tokens.flatten())


ESM = port_of(
    "transformers ESM, fair-esm",
    _esm,
    lambda: ESM2(num_layers=LAYERS, embed_dim=WIDTH, attention_heads=HEADS).eval(),
    _to_fair,
    _protein_loss,
    {
        "scale": Fault("layers.1.self_attn", set_attribute("scaling", 0.1)),
        "epsilon": Fault("layers.0.final_layer_norm", set_attribute("eps", 0.05)),
        "value scaled": Fault("layers.1.self_attn.v_proj", scale_parameter("weight", 1.1)),
    },
)

# --- the text half of CLIP ------------------------------------------------------------------------


def _clip() -> nn.Module:
    return transformers.CLIPTextModelWithProjection(
        transformers.CLIPTextConfig(
            vocab_size=VOCABULARY,
            hidden_size=WIDTH,
            intermediate_size=4 * WIDTH,
            projection_dim=24,
            num_hidden_layers=LAYERS,
            num_attention_heads=HEADS,
            max_position_embeddings=LENGTH,
            hidden_act="gelu",
            bos_token_id=1,
            eos_token_id=2,  # as in published models: then the highest number ends a text
            pad_token_id=0,
            initializer_factor=5.0,
        )
    )


_CLIP = [
    (r"text_model\.embeddings\.token_embedding\.weight", r"token_embedding.weight"),
    (r"text_model\.embeddings\.position_embedding\.weight", r"positional_embedding"),
    (r"text_model\.final_layer_norm\.(\w+)", r"ln_final.\1"),
]


def to_open_clip(
    tower: str, renames: Sequence[Rename], projection: tuple[str, str]
) -> Callable[[Weights], Weights]:
    """The conversion of one half of CLIP, whose layers are alike in both.

    `projection` are the names of the last weight, which open_clip has the other way round.
    """
    layer, block = rf"{tower}\.encoder\.layers\.(\d+)", r"transformer.resblocks.\1"
    convert = converting(
        [
            *renames,
            (rf"{layer}\.layer_norm(\d)\.(\w+)", rf"{block}.ln_\2.\3"),
            (rf"{layer}\.mlp\.fc1\.(\w+)", rf"{block}.mlp.c_fc.\2"),
            (rf"{layer}\.mlp\.fc2\.(\w+)", rf"{block}.mlp.c_proj.\2"),
            (rf"{layer}\.self_attn\.out_proj\.(\w+)", rf"{block}.attn.out_proj.\2"),
            (rf"{layer}\.self_attn\.(.)_proj\.(\w+)", rf"{block}.attn.\2_proj_\3"),
        ],
        (".q_proj_", ".k_proj_", ".v_proj_"),
        ".in_proj_",
    )
    theirs, ours = projection
    return lambda weights: {**convert(weights), ours: weights[theirs].T}


def _text_loss(model: nn.Module) -> torch.Tensor:
    torch.manual_seed(6)
    tokens = torch.randint(3, VOCABULARY - 1, (3, LENGTH))
    tokens[:, -3] = VOCABULARY - 1  # the end of text is the highest number
    made = model(tokens)
    return getattr(made, "text_embeds", made).float().pow(2).mean()


CLIP = port_of(
    "transformers CLIP, open_clip",
    _clip,
    lambda: TextTransformer(
        context_length=LENGTH,
        vocab_size=VOCABULARY,
        width=WIDTH,
        heads=HEADS,
        layers=LAYERS,
        output_dim=24,
        pool_type="argmax",
    ),
    to_open_clip("text_model", _CLIP, ("text_projection.weight", "text_projection")),
    _text_loss,
    {
        "activation": Fault(
            "transformer.resblocks.1.mlp",
            lambda mlp: mlp.__setattr__("gelu", nn.ReLU()),
        ),
        "no mask": Fault(
            "transformer.resblocks.1.attn",
            replace_forward(lambda forward, *a, attn_mask=None, **k: forward(*a, **k)),
        ),
        "norm scaled": Fault("transformer.resblocks.1.ln_2", scale_parameter("weight", 1.1)),
    },
)

PORTS = [WHISPER, ESM, CLIP]
