"""The models of the pairs in MindSpore, each sound or with one fault."""

# MindSpore reads no annotations.
# ruff: noqa: ANN001, ANN201, ANN204

from __future__ import annotations

from mindspore import mint, nn, ops


class Cnn(nn.Cell):
    def __init__(self, fault=""):
        super().__init__()
        border = {"pad_mode": "pad", "padding": 1, "has_bias": True}
        same = {"pad_mode": "same", "has_bias": True}
        self.conv1 = nn.Conv2d(3, 8, 3, stride=2, **(same if fault == "pad_mode" else border))
        self.norm1 = nn.BatchNorm2d(8, momentum=0.1 if fault == "momentum" else 0.9)
        self.conv2, self.norm2 = nn.Conv2d(8, 16, 3, **border), nn.BatchNorm2d(16)
        self.act, self.pool = nn.ReLU(), nn.MaxPool2d(2, 2)
        self.drop = nn.Dropout(keep_prob=0.9) if fault == "keep_prob" else nn.Dropout(p=0.0)
        self.head = nn.Dense(64, 10)

    def construct(self, x):
        x = self.act(self.norm1(self.conv1(x)))
        x = self.pool(self.act(self.norm2(self.conv2(x))))
        return self.head(self.drop(x.reshape(x.shape[0], -1)))


class Recurrent(nn.Cell):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 8)
        self.lstm = nn.LSTM(8, 12, num_layers=2, batch_first=True)
        self.head = nn.Dense(12, 1)

    def construct(self, tokens):
        hidden, _ = self.lstm(self.embed(tokens))
        return self.head(hidden[:, -1])


class Attending(nn.Cell):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm((16,), epsilon=1e-5)
        self.attention = nn.MultiheadAttention(16, 4, batch_first=True)
        self.head = nn.Dense(16, 5)

    def construct(self, x):
        normal = self.norm(x)
        mixed, _ = self.attention(normal, normal, normal)
        return self.head(x + mixed)


class Tied(nn.Cell):
    def __init__(self):
        super().__init__()
        self.embed, self.fc = nn.Embedding(30, 16), nn.Dense(16, 16)
        self.norm = nn.LayerNorm((16,), epsilon=1e-5)

    def construct(self, tokens):
        x = self.embed(tokens)
        x = self.norm(x + ops.tanh(self.fc(x)))
        return mint.matmul(x, mint.transpose(self.embed.embedding_table, 0, 1))


class Layer(nn.Cell):
    def __init__(self):
        super().__init__()
        self.ln = nn.LayerNorm((16,), epsilon=1e-5)
        self.wide, self.narrow = nn.Dense(16, 32), nn.Dense(32, 16)

    def construct(self, x):
        return x + self.narrow(ops.relu(self.wide(self.ln(x))))


class Named(nn.Cell):
    def __init__(self):
        super().__init__()
        self.blocks = nn.CellList([Layer() for _ in range(2)])
        self.final, self.classes = nn.LayerNorm((16,), epsilon=1e-5), nn.Dense(16, 5)

    def construct(self, x):
        for block in self.blocks:
            x = block(x)
        return self.classes(self.final(x))


NAMES = {
    "blocks": "stages",
    "ln": "norm",
    "wide": "up",
    "narrow": "down",
    "final": "norm",
    "classes": "head",
    "gamma": "weight",
    "beta": "bias",
    "embedding_table": "weight",
    "moving_mean": "running_mean",
    "moving_variance": "running_var",
    "w": "weight",
}
"""PyTorch's names for what has another one here, part by part."""


class Autoencoder(nn.Cell):
    def __init__(self):
        super().__init__()
        border = {"pad_mode": "pad", "padding": 1, "has_bias": True}
        self.down, self.norm = nn.Conv2d(3, 8, 3, stride=2, **border), nn.GroupNorm(2, 8)
        self.act = nn.PReLU()
        self.up = nn.Conv2dTranspose(8, 3, 2, stride=2, pad_mode="valid", has_bias=True)

    def construct(self, x):
        return self.up(self.act(self.norm(self.down(x))))


class BothWays(nn.Cell):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 8)
        self.gru = nn.GRU(8, 6, bidirectional=True, batch_first=True)
        self.head = nn.Dense(12, 1)

    def construct(self, tokens):
        hidden, _ = self.gru(self.embed(tokens))
        return self.head(ops.mean(hidden, 1))


class Gated(nn.Cell):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm((16,), epsilon=1e-5)
        self.gate, self.up = mint.nn.Linear(16, 24), mint.nn.Linear(16, 24)
        self.down, self.head = mint.nn.Linear(24, 16), mint.nn.Linear(16, 5, bias=False)

    def construct(self, x):
        normal = self.norm(x)
        mixed = mint.mul(mint.nn.functional.silu(self.gate(normal)), self.up(normal))
        return self.head(mint.add(x, self.down(mixed)))
