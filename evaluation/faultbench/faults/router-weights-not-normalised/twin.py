"""A layer of routed experts: softmax router, two experts a token, load-balancing loss."""

import torch
from torch import nn
from torch.nn import functional as F

WIDTH, EXPERTS, CHOSEN = 32, 6, 2


class Expert(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate, self.up = nn.Linear(WIDTH, 48, bias=False), nn.Linear(WIDTH, 48, bias=False)
        self.down = nn.Linear(48, WIDTH, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class MoE(nn.Module):
    def __init__(self):
        super().__init__()
        self.router = nn.Linear(WIDTH, EXPERTS, bias=False)
        self.experts = nn.ModuleList(Expert() for _ in range(EXPERTS))

    def forward(self, x):
        scores = self.router(x)
        shares = scores.softmax(dim=-1)
        best, chosen = scores.topk(CHOSEN, dim=-1)
        weights = best.softmax(dim=-1)
        order = chosen.flatten().argsort(stable=True)
        tokens = order // CHOSEN
        counts = chosen.flatten().bincount(minlength=EXPERTS).tolist()
        parts = [e(part) for e, part in zip(self.experts, x[tokens].split(counts))]
        outputs = torch.cat(parts) * weights.flatten()[order, None]
        mixed = torch.zeros_like(x).index_add(0, tokens, outputs)
        load = F.one_hot(chosen, EXPERTS).float().mean(dim=(0, 1))
        balance = EXPERTS * (load * shares.mean(dim=0)).sum()
        return mixed, balance


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter, self.norm = nn.Linear(20, WIDTH), nn.LayerNorm(WIDTH)
        self.moe, self.leave = MoE(), nn.Linear(WIDTH, 5)

    def forward(self, x):
        x = self.enter(x)
        mixed, balance = self.moe(self.norm(x))
        return self.leave(x + mixed), balance


def build():
    torch.manual_seed(55)
    model = Net()
    with torch.no_grad():
        model.moe.router.weight.mul_(3)
    return model, torch.optim.AdamW(model.parameters(), lr=5e-3)


def step(n, model, optimizer):
    data = torch.Generator().manual_seed(300 + n)
    x, labels = torch.randn(40, 20, generator=data), torch.randint(5, (40,), generator=data)
    logits, balance = model(x)
    loss = F.cross_entropy(logits, labels) + 0.1 * balance
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


if __name__ == "__main__":
    state = build()
    for n in range(2):
        print(f"step {n}: {step(n, *state).item():.6f}")
