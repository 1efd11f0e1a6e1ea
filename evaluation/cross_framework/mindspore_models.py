"""The models of the pairs in MindSpore, each sound or with one fault."""

# MindSpore reads no annotations.
# ruff: noqa: ANN001, ANN201, ANN204

from __future__ import annotations

from mindspore import Parameter, mint, nn, ops
from mindspore.common import initializer


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


class Separable(nn.Cell):
    def __init__(self, fault=""):
        super().__init__()
        kept = {"pad_mode": "pad", "padding": 1, "has_bias": True}
        self.deep = nn.Conv2d(3, 6, 3, group=3, **kept)
        self.point = nn.Conv2d(6, 12, 1, pad_mode="valid", has_bias=True)
        self.act = nn.LeakyReLU() if fault == "slope" else nn.LeakyReLU(0.01)
        self.pool, self.gate = nn.AvgPool2d(2, 2), nn.SiLU()
        self.flat, self.head = nn.Flatten(), nn.Dense(12 * 16, 10)

    def construct(self, x):
        return self.head(self.flat(self.gate(self.pool(self.act(self.point(self.deep(x)))))))


class Vision(nn.Cell):
    """Patches, a token for the class and positions, which are parameters of the model itself."""

    def __init__(self, fault=""):
        super().__init__()
        self.patches = nn.Conv2d(3, 16, 4, stride=4, pad_mode="valid", has_bias=True)
        self.token, self.places = (
            Parameter(initializer.initializer("zeros", shape), name)
            for name, shape in (("token", (1, 1, 16)), ("places", (1, 5, 16)))
        )
        self.blocks = nn.SequentialCell(*[Layer() for _ in range(2)])
        self.norm, self.head = nn.LayerNorm((16,), epsilon=1e-5), nn.Dense(16, 10)
        self.fault = fault

    def construct(self, x):
        x = self.patches(x).reshape(x.shape[0], 16, 4).transpose(0, 2, 1)
        token = ops.broadcast_to(self.token, (x.shape[0], 1, 16))
        x = ops.cat((token, x), 1) + self.places
        x = self.blocks(x)
        if self.fault == "half":
            x = x.astype("float16").astype("float32")
        return self.head(self.norm(x)[:, 0])


class TextCnn(nn.Cell):
    def __init__(self, fault=""):
        super().__init__()
        self.embed = nn.Embedding(20, 8)
        self.convs = nn.CellList(
            [nn.Conv1d(8, 6, size, pad_mode="valid", has_bias=True) for size in (2, 3)]
        )
        self.head, self.fault = nn.Dense(12, 1), fault

    def construct(self, tokens):
        x = self.embed(tokens).swapaxes(1, 2)
        found = [ops.relu(conv(x)) for conv in self.convs]
        if self.fault == "mean":
            return self.head(ops.cat([each.mean(2) for each in found], 1))
        return self.head(ops.cat([ops.amax(each, 2) for each in found], 1))


class Unrolled(nn.Cell):
    def __init__(self, fault=""):
        super().__init__()
        self.cell, self.norm = nn.GRUCell(16, 12), nn.LayerNorm((12,), epsilon=1e-5)
        self.head, self.fault = nn.Dense(12, 5), fault

    def construct(self, x):
        hidden, told = ops.zeros((x.shape[0], 12)), []
        for step in range(x.shape[1]):
            if self.fault == "detach" and step == 3:
                hidden = ops.stop_gradient(hidden)
            hidden = self.cell(x[:, step], hidden)
            told.append(self.head(self.norm(hidden)))
        return ops.stack(told, 1)


class Experts(nn.Cell):
    def __init__(self, fault=""):
        super().__init__()
        self.gate = nn.Dense(16, 3)
        self.experts = nn.CellList(
            [nn.SequentialCell(nn.Dense(16, 8), nn.Tanh(), nn.Dense(8, 16)) for _ in range(3)]
        )
        self.head, self.fault = nn.Dense(16, 5), fault
        if fault == "frozen":
            self.experts[1][0].weight.requires_grad = False

    def construct(self, x):
        shares = ops.softmax(self.gate(x), 1 if self.fault == "axis" else -1)
        made = ops.stack([expert(x) for expert in self.experts], -1)
        return self.head(x + ops.sum(made * ops.expand_dims(shares, -2), -1))
