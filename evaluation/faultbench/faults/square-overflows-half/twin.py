"""Half-precision training with a loss scale: forward in float16, weights in float32."""

import torch
from torch import nn
from torch.nn import functional as F


class Energy(nn.Module):
    def forward(self, x):
        wide = x.float()
        energy = (wide * wide).sum(dim=-1, keepdim=True) / x.shape[-1]
        return x / (energy + 1e-3).sqrt().to(x.dtype)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter, self.energy, self.leave = nn.Linear(24, 64), Energy(), nn.Linear(64, 8)

    def forward(self, x):
        return self.leave(self.energy(F.relu(self.enter(x)) * 64))


def build():
    torch.manual_seed(16)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    return model, optimizer, scaler


def step(n, model, optimizer, scaler):
    data = torch.Generator().manual_seed(n)
    x, y = 8 * torch.randn(16, 24, generator=data), torch.randn(16, 8, generator=data)
    with torch.autocast("cpu", dtype=torch.float16):
        predicted = model(x)
        loss = F.mse_loss(predicted.float(), y)
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), 0.1)
    scaler.step(optimizer)
    scaler.update()
    return loss


if __name__ == "__main__":
    state = build()
    for n in range(2):
        print(f"step {n}: {step(n, *state).item():.6f}")
