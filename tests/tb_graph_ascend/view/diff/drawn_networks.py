"""Twelve kinds of networks, each with its edges as one draws them from its source.

`a > b` is an edge from what `a` puts out to `b`; `a > b > c` are two. `x` is what the network is
fed. Boxes are modules by their paths and calls by name and number, as the graph titles them; what
runs again right behind itself is one box with how often.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn import functional as F


class Network(NamedTuple):
    """A network, what it is fed, and its edges by hand."""

    make: Callable[[], nn.Module]
    fed: Callable[[], Sequence[Tensor]]
    edges: str


def _tensor(value: object) -> Tensor:
    assert isinstance(value, Tensor)
    return value


class UNet(nn.Module):
    """Two levels, each skip joined on the way up."""

    def __init__(self) -> None:
        super().__init__()
        self.down1, self.down2 = nn.Conv1d(2, 4, 3, padding=1), nn.Conv1d(4, 8, 3, padding=1)
        self.middle = nn.Conv1d(8, 8, 3, padding=1)
        self.up2, self.up1 = nn.Conv1d(16, 4, 3, padding=1), nn.Conv1d(8, 3, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        one = torch.relu(self.down1(x))
        two = torch.relu(self.down2(F.avg_pool1d(one, 2)))
        low = torch.relu(self.middle(F.avg_pool1d(two, 2)))
        low = torch.relu(self.up2(torch.cat([F.interpolate(low, scale_factor=2.0), two], 1)))
        return _tensor(self.up1(torch.cat([F.interpolate(low, scale_factor=2.0), one], 1)))


UNET = """
x > down1 > relu #0 > avg_pool1d #0 > down2 > relu #1 > avg_pool1d #1 > middle > relu #2
relu #2 > interpolate #0 > cat #0 > up2 > relu #3 > interpolate #1 > cat #1 > up1
relu #1 > cat #0
relu #0 > cat #1
"""


class Mixture(nn.Module):
    """Two experts, weighed by a router that both hang on."""

    def __init__(self) -> None:
        super().__init__()
        self.router = nn.Linear(6, 2)
        self.first, self.second = nn.Linear(6, 6), nn.Linear(6, 6)

    def forward(self, x: Tensor) -> Tensor:
        shares = torch.softmax(self.router(x), -1)
        one, other = shares.chunk(2, dim=-1)
        return torch.tanh(self.first(x)) * one + torch.sigmoid(self.second(x)) * other


MIXTURE = """
x > router > softmax #0 > chunk #0
x > first > tanh #0 > __mul__ #0 > __add__ #0
x > second > sigmoid #0 > __mul__ #1 > __add__ #0
chunk #0 > __mul__ #0
chunk #0 > __mul__ #1
"""


class Diffusion(nn.Module):
    """Noise is added by a schedule, and predicted from what came of it and the time."""

    def __init__(self) -> None:
        super().__init__()
        self.time, self.into = nn.Linear(1, 8), nn.Linear(4, 8)
        self.body, self.out = nn.Linear(8, 8), nn.Linear(8, 4)

    def forward(self, clean: Tensor, noise: Tensor, time: Tensor) -> Tensor:
        noisy = clean * 0.8 + noise * 0.6
        hidden = self.into(noisy) + torch.sin(self.time(time))
        return F.mse_loss(self.out(F.silu(self.body(hidden))), noise)


DIFFUSION = """
x > __mul__ #0 > __add__ #0 > into > __add__ #1 > body > silu #0 > out > mse_loss #0
x > __mul__ #1 > __add__ #0
x > time > sin #0 > __add__ #1
x > mse_loss #0
"""


class Gan(nn.Module):
    """The discriminator judges what is real, and what the generator makes of noise."""

    def __init__(self) -> None:
        super().__init__()
        self.generator = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 4))
        self.discriminator = nn.Sequential(nn.Linear(4, 8), nn.LeakyReLU(), nn.Linear(8, 1))

    def forward(self, noise: Tensor, real: Tensor) -> Tensor:
        fake = self.generator(noise)
        good, bad = self.discriminator(real), self.discriminator(fake)
        return F.softplus(-good).mean() + F.softplus(bad).mean()


GAN = """
x > generator > discriminator × 2 > softplus #1 > mean #1 > __add__ #0
x > discriminator × 2 > __neg__ #0 > softplus #0 > mean #0 > __add__ #0
"""


class Translator(nn.Module):
    """Each layer of the decoder reads what the encoder put out."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.target = nn.Linear(4, 8), nn.Linear(3, 8)
        self.cross1, self.cross2 = (
            nn.MultiheadAttention(8, 2, batch_first=True),
            nn.MultiheadAttention(8, 2, batch_first=True),
        )

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        memory = torch.tanh(self.encoder(source))
        x = self.target(target)
        x = x + self.cross1(x, memory, memory, need_weights=False)[0]
        return _tensor(x + self.cross2(x, memory, memory, need_weights=False)[0])


TRANSLATOR = """
x > encoder > tanh #0 > cross1 > __add__ #0 > cross2 > __add__ #1
x > target > cross1
target > __add__ #0 > __add__ #1
tanh #0 > cross2
"""


class Recurrent(nn.Module):
    """An LSTM, of which the steps and the last state are both read."""

    def __init__(self) -> None:
        super().__init__()
        self.put, self.lstm = nn.Linear(3, 5), nn.LSTM(5, 6, batch_first=True)
        self.steps, self.last = nn.Linear(6, 2), nn.Linear(6, 2)

    def forward(self, x: Tensor) -> Tensor:
        steps, (last, _) = self.lstm(torch.tanh(self.put(x)))
        return self.steps(steps).mean(1) + _tensor(self.last(last.squeeze(0)))


RECURRENT = """
x > put > tanh #0 > lstm > steps > mean #0 > __add__ #0
lstm > squeeze #0 > last > __add__ #0
"""


class Messages(nn.Module):
    """Two rounds of messages along the edges of a graph, each added to what its node had."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.message, self.update = nn.Linear(3, 6), nn.Linear(6, 6), nn.Linear(12, 6)

    def forward(self, x: Tensor, links: Tensor) -> Tensor:
        nodes = torch.tanh(self.embed(x))
        sent = torch.relu(self.message(nodes))
        got = torch.matmul(links, sent)
        return torch.sigmoid(self.update(torch.cat([nodes, got], -1)))


MESSAGES = """
x > embed > tanh #0 > message > relu #0 > matmul #0 > cat #0 > update > sigmoid #0
x > matmul #0
tanh #0 > cat #0
"""


class LowRank(nn.Module):
    """A frozen product, and beside it one of two thin matrices."""

    def __init__(self) -> None:
        super().__init__()
        self.base = nn.Linear(6, 5).requires_grad_(False)
        self.thin_in, self.thin_out = nn.Linear(6, 2, bias=False), nn.Linear(2, 5, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return _tensor(self.base(x) + self.thin_out(self.thin_in(x)) * 0.5)


LOW_RANK = """
x > base > __add__ #0
x > thin_in > thin_out > __mul__ #0 > __add__ #0
"""


class TwoHeads(nn.Module):
    """A policy and a value of one body, each with a loss and an optimizer of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.policy, self.value = nn.Linear(4, 8), nn.Linear(8, 3), nn.Linear(8, 1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        hidden = torch.tanh(self.body(x))
        return torch.log_softmax(self.policy(hidden), -1), self.value(hidden).square()


TWO_HEADS = """
x > body > tanh #0 > policy > log_softmax #0
tanh #0 > value > square #0
"""


class Vision(nn.Module):
    """Patches behind a learnt token, one layer of attention, and a head on the token."""

    def __init__(self) -> None:
        super().__init__()
        self.patch, self.token = nn.Conv1d(2, 8, 2, 2), nn.Parameter(torch.randn(1, 1, 8))
        self.norm, self.attention = (
            nn.LayerNorm(8),
            nn.MultiheadAttention(8, 2, batch_first=True),
        )
        self.head = nn.Linear(8, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = self.patch(x).transpose(1, 2)
        x = torch.cat([self.token.expand(len(x), -1, -1), x], dim=1)
        seen = self.norm(x)
        x = x + self.attention(seen, seen, seen, need_weights=False)[0]
        return _tensor(self.head(torch.tanh(x[:, 0])))


VISION = """
x > patch > transpose #0 > cat #0 > norm > attention > __add__ #0 > __getitem__ #0 > tanh #0 > head
expand #0 > cat #0 > __add__ #0
"""


class Port(nn.Module):
    """The network of `LowRank` as another program would name its parts."""

    def __init__(self) -> None:
        super().__init__()
        self.dense = nn.Linear(6, 5).requires_grad_(False)
        self.lora_a, self.lora_b = nn.Linear(6, 2, bias=False), nn.Linear(2, 5, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        beside = self.lora_b(self.lora_a(x)) * 0.5
        return _tensor(self.dense(x) + beside)


PORT = """
x > dense > __add__ #0
x > lora_a > lora_b > __mul__ #0 > __add__ #0
"""


class Stage(nn.Module):
    """One of two stages of a pipeline: what it makes is sent on, or read of what comes in."""

    def __init__(self, rank: int) -> None:
        super().__init__()
        self.rank = rank
        self.body, self.out = nn.Linear(4, 4), nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        if self.rank == 0:
            sent = torch.tanh(self.body(x)).detach()
            dist.send(sent, 1)
            return sent
        got = torch.zeros(3, 4)
        dist.recv(got, 0)
        return _tensor(self.out(torch.relu(self.body(got))))


STAGES = (
    """
x > body > tanh #0 > detach #0 > send #0
""",
    """
recv #0 > body > relu #0 > out
""",
)


def _drawn(*shapes: tuple[int, ...]) -> Callable[[], Sequence[Tensor]]:
    return lambda: [torch.randn(*shape) for shape in shapes]


NETWORKS = {
    "U-Net": Network(UNet, _drawn((2, 2, 8)), UNET),
    "mixture": Network(Mixture, _drawn((5, 6)), MIXTURE),
    "diffusion": Network(Diffusion, _drawn((5, 4), (5, 4), (5, 1)), DIFFUSION),
    "GAN": Network(Gan, _drawn((5, 3), (5, 4)), GAN),
    "encoder and decoder": Network(Translator, _drawn((2, 6, 4), (2, 3, 3)), TRANSLATOR),
    "LSTM": Network(Recurrent, _drawn((2, 4, 3)), RECURRENT),
    "GNN": Network(Messages, _drawn((5, 3), (5, 5)), MESSAGES),
    "LoRA": Network(LowRank, _drawn((5, 6)), LOW_RANK),
    "two optimizers": Network(TwoHeads, _drawn((5, 4)), TWO_HEADS),
    "ViT": Network(Vision, _drawn((2, 2, 8)), VISION),
    "port": Network(Port, _drawn((5, 6)), PORT),
}
