"""Two training steps of a decoder with RMSNorm, rotary positions, grouped queries and SwiGLU."""

import torch
from torch import nn
from torch.nn import functional as F

VOCABULARY, WIDTH, HEADS, GROUPS, HIDDEN, DEPTH = 120, 64, 4, 2, 96, 2
HEAD = WIDTH // HEADS


class RMSNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH) + 0.1 * torch.randn(WIDTH))

    def forward(self, x):
        mean_square = x.pow(2).mean(-1, keepdim=True)
        return x * torch.rsqrt(mean_square + 1e-6) * self.weight


class Rotary(nn.Module):
    def __init__(self):
        super().__init__()
        frequencies = 10000.0 ** (-torch.arange(0, HEAD, 2).float() / HEAD)
        self.register_buffer("frequencies", frequencies, persistent=False)  # @answer

    def forward(self, positions):
        angles = positions[:, None].float() * self.frequencies  # @answer
        angles = torch.cat([angles, angles], dim=-1)
        return angles.cos().bfloat16(), angles.sin().bfloat16()


def rotate_half(x):
    first, second = x.chunk(2, dim=-1)
    return torch.cat([-second, first], dim=-1)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q_proj = nn.Linear(WIDTH, WIDTH, bias=False)
        self.k_proj = nn.Linear(WIDTH, GROUPS * HEAD, bias=False)
        self.v_proj = nn.Linear(WIDTH, GROUPS * HEAD, bias=False)
        self.o_proj = nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, x, cos, sin):
        batch, length, _ = x.shape
        q = self.q_proj(x).view(batch, length, HEADS, HEAD).transpose(1, 2)
        k = self.k_proj(x).view(batch, length, GROUPS, HEAD).transpose(1, 2)
        v = self.v_proj(x).view(batch, length, GROUPS, HEAD).transpose(1, 2)
        q = q * cos + rotate_half(q) * sin
        k = k * cos + rotate_half(k) * sin
        k = k.repeat_interleave(HEADS // GROUPS, dim=1)
        v = v.repeat_interleave(HEADS // GROUPS, dim=1)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o_proj(mixed.transpose(1, 2).reshape(batch, length, WIDTH))


class SwiGLU(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate_proj = nn.Linear(WIDTH, HIDDEN, bias=False)
        self.up_proj = nn.Linear(WIDTH, HIDDEN, bias=False)
        self.down_proj = nn.Linear(HIDDEN, WIDTH, bias=False)

    def forward(self, x):
        gate, up = self.gate_proj(x), self.up_proj(x)
        return self.down_proj(F.silu(gate) * up)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.input_norm, self.post_norm = RMSNorm(), RMSNorm()
        self.attention, self.mlp = Attention(), SwiGLU()

    def forward(self, x, cos, sin):
        x = x + self.attention(self.input_norm(x), cos, sin)
        return x + self.mlp(self.post_norm(x))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.rotary = Rotary()
        self.layers = nn.ModuleList(Layer() for _ in range(DEPTH))
        self.norm = RMSNorm()
        self.lm_head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, ids):
        x = self.embed(ids)
        cos, sin = self.rotary(torch.arange(ids.shape[1]))
        for layer in self.layers:
            x = layer(x, cos, sin)
        return self.lm_head(self.norm(x))


def build():
    torch.manual_seed(3)
    model = Model().to(torch.bfloat16)
    with torch.no_grad():
        for layer in model.layers:
            for matrix in layer.attention.parameters():
                matrix.mul_(4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
    return model, optimizer


def step(n, model, optimizer):
    tokens = torch.randint(VOCABULARY, (1, 385), generator=torch.Generator().manual_seed(100 + n))
    logits = model(tokens[:, :-1])
    loss = F.cross_entropy(logits.float().flatten(0, 1), tokens[:, 1:].flatten())
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    return logits.detach().float()


if __name__ == "__main__":
    state = build()
    for n in range(2):
        print(f"step {n}: {step(n, *state).norm().item():.6f}")
