"""Segments noisy discs with a small U-Net: group norm, skip connections, dice and cross entropy."""

import torch
from torch import nn
from torch.nn import functional as F


class Double(nn.Sequential):
    def __init__(self, inside, outside):
        super().__init__(
            nn.Conv2d(inside, outside, 3, padding=1),
            nn.GroupNorm(4, outside),  # @answer
            nn.SiLU(),
            nn.Conv2d(outside, outside, 3, padding=1, padding_mode="reflect"),
            nn.GroupNorm(4, outside),
            nn.SiLU(),
        )


class Up(nn.Module):
    def __init__(self, inside, skip, outside):
        super().__init__()
        self.reduce = nn.Conv2d(inside, outside, 1)
        self.mix = Double(outside + skip, outside)

    def forward(self, x, skip):
        x = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
        return self.mix(torch.cat([skip, self.reduce(x)], dim=1))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter = Double(1, 8)
        self.down1, self.down2 = Double(8, 16), Double(16, 32)
        self.up1, self.up2 = Up(32, 16, 16), Up(16, 8, 8)
        self.leave = nn.Conv2d(8, 1, 1)

    def forward(self, images):
        fine = self.enter(images)  # @answer
        middle = self.down1(F.max_pool2d(fine, 2))
        coarse = self.down2(F.max_pool2d(middle, 2))
        return self.leave(self.up2(self.up1(coarse, middle), fine))


def dice(logits, targets):
    shares = torch.sigmoid(logits).flatten(1)
    targets = targets.flatten(1)
    overlap = (shares * targets).sum(1)
    return 1 - ((2 * overlap + 1) / (shares.sum(1) + targets.sum(1) + 1)).mean()


def discs(n):
    data = torch.Generator().manual_seed(n)
    centres = torch.rand(4, 2, 1, 1, generator=data) * 24 + 4
    grid = torch.stack(torch.meshgrid(torch.arange(32.0), torch.arange(32.0), indexing="ij"))
    targets = ((grid - centres).square().sum(1, keepdim=True) < 64).float()
    return targets + 0.5 * torch.randn(4, 1, 32, 32, generator=data), targets


def build():
    torch.manual_seed(77)
    model = UNet()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3, momentum=0.9)
    return model, optimizer


def step(n, model, optimizer):
    images, targets = discs(n)
    logits = model(images)
    weight = torch.tensor(3.0)
    loss = F.binary_cross_entropy_with_logits(logits, targets, pos_weight=weight)
    loss = loss + dice(logits, targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


if __name__ == "__main__":
    state = build()
    for n in range(2):
        print(f"step {n}: {step(n, *state).item():.6f}")
