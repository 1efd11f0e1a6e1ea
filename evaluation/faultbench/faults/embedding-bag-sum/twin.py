"""Click prediction: bags of item embeddings, factor interactions, dropout, its own Adam."""

import torch
from torch import nn
from torch.nn import functional as F


class Dropout(nn.Module):
    def __init__(self, share):
        super().__init__()
        self.share = share

    def forward(self, x):
        if not self.training:
            return x
        kept = torch.rand_like(x) >= self.share
        return x * kept / (1 - self.share)


class Clicks(nn.Module):
    def __init__(self):
        super().__init__()
        self.items = nn.EmbeddingBag(300, 16, mode="mean")
        self.user = nn.Linear(10, 16)
        self.hidden = nn.Linear(33, 64)
        self.dropout = Dropout(0.4)
        self.score = nn.Linear(64, 1)

    def forward(self, items, offsets, user):
        bag, person = self.items(items, offsets), self.user(user)
        together = torch.linalg.vecdot(bag, person)[:, None]
        x = F.leaky_relu(self.hidden(torch.cat([bag, person, together], dim=-1)), 0.2)
        return self.score(self.dropout(x)).squeeze(-1)


class Adam:
    def __init__(self, parameters, rate=0.01, betas=(0.9, 0.99), eps=1e-8):
        self.parameters, self.rate, self.betas, self.eps = list(parameters), rate, betas, eps
        self.first = [torch.zeros_like(p) for p in self.parameters]
        self.second = [torch.zeros_like(p) for p in self.parameters]
        self.count = 0

    @torch.no_grad()
    def step(self):
        self.count += 1
        b1, b2 = self.betas
        for p, m, v in zip(self.parameters, self.first, self.second):
            m.mul_(b1).add_(p.grad, alpha=1 - b1)
            v.mul_(b2).addcmul_(p.grad, p.grad, value=1 - b2)
            mean = m / (1 - b1**self.count)
            root = (v / (1 - b2**self.count)).sqrt() + self.eps
            p.sub_(self.rate * mean / root)
            p.grad = None


def build():
    torch.manual_seed(19)
    model = Clicks()
    return model, Adam(model.parameters())


def step(n, model, optimizer):
    data = torch.Generator().manual_seed(9 + n)
    items = torch.randint(300, (60,), generator=data)
    offsets = torch.tensor([0, 4, 9, 15, 17, 30, 42, 50])
    user = torch.randn(8, 10, generator=data)
    clicked = (torch.rand(8, generator=data) < 0.5).float()
    logits = model(items, offsets, user)
    loss = F.binary_cross_entropy_with_logits(logits, clicked)
    loss.backward()
    optimizer.step()
    model.eval()
    with torch.no_grad():
        scores = model(items, offsets, user)
    model.train()
    return loss.detach() + scores.square().sum()


if __name__ == "__main__":
    state = build()
    for n in range(2):
        print(f"step {n}: {step(n, *state).item():.6f}")
