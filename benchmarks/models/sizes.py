"""Sizes of small configurations of transformers, under the names that its families give them."""

WORDS, WIDTH = 64, 32
COMMON = {
    "hidden_size": WIDTH,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 2 * WIDTH,
}
DECODER = {**COMMON, "num_key_value_heads": 2}
GPT2 = {"n_embd": WIDTH, "n_layer": 2, "n_head": 4, "n_positions": 32}
DISTIL = {"dim": WIDTH, "hidden_dim": 64, "n_layers": 2, "n_heads": 4}
