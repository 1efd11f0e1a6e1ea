"""A variational autoencoder on binary patterns, with a running average of its weights."""

import copy

import torch
from torch import nn
from torch.nn import functional as F


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(64, 48), nn.Softplus(), nn.Linear(48, 16))
        self.decode = nn.Sequential(nn.Linear(8, 48), nn.Softplus(), nn.Linear(48, 64))

    def forward(self, x):
        mean, log_variance = self.encode(x).chunk(2, dim=1)
        noise = torch.randn_like(mean)
        latent = mean + noise * torch.exp(0.5 * log_variance)
        return self.decode(latent), mean, log_variance


def divergence(mean, log_variance):
    return -0.5 * (1 + log_variance - mean.square() - log_variance.exp()).sum(1).mean()


def build():
    torch.manual_seed(31)
    model = VAE()
    average = copy.deepcopy(model).requires_grad_(False)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda n: min(1.0, (n + 1) / 4)
    )  # @answer
    return model, average, optimizer, schedule


def update_average(average, model, decay=0.9):
    with torch.no_grad():
        for slow, fast in zip(average.parameters(), model.parameters()):
            slow.mul_(decay).add_(fast, alpha=1 - decay)


def step(n, model, average, optimizer, schedule):
    x = (torch.rand(16, 64, generator=torch.Generator().manual_seed(n)) < 0.3).float()
    logits, mean, log_variance = model(x)
    reconstruction = F.binary_cross_entropy_with_logits(logits, x, reduction="none").sum(1).mean()
    loss = reconstruction + divergence(mean, log_variance)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()  # @answer
    schedule.step()
    update_average(average, model)
    return average(x)[1].square().sum() + loss


if __name__ == "__main__":
    state = build()
    for n in range(2):
        print(f"step {n}: {step(n, *state).item():.6f}")
