"""A small residual network on coloured squares: two training steps, each followed by validation."""

import torch
from torch import nn
from torch.nn import functional as F

MEAN = torch.tensor([0.49, 0.36, 0.22]).view(3, 1, 1)
STD = torch.tensor([0.25, 0.18, 0.31]).view(3, 1, 1)


class Residual(nn.Module):
    def __init__(self, inside, outside, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inside, outside, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(outside)
        self.conv2 = nn.Conv2d(outside, outside, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(outside)
        self.shortcut = nn.Conv2d(inside, outside, 1, stride, bias=False)

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        return F.relu(y + self.shortcut(x))  # @answer


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 12, 3, padding=1)
        self.stages = nn.Sequential(Residual(12, 16, 1), Residual(16, 24, 2), Residual(24, 24, 2))
        self.classify = nn.Linear(24, 10)

    def forward(self, images):
        x = self.stages(self.stem(images))
        x = x.mean(dim=(2, 3))
        return self.classify(x)


def normalise(images):
    return (images - MEAN) / STD


def build():
    torch.manual_seed(21)
    model = ResNet()
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    return model, optimizer


def step(n, model, optimizer):
    data = torch.Generator().manual_seed(n)
    images = torch.rand(8, 3, 16, 16, generator=data)
    labels = torch.randint(10, (8,), generator=data)
    model.train()
    loss = F.cross_entropy(model(normalise(images)), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    model.eval()
    with torch.no_grad():
        validation = F.cross_entropy(model(normalise(images.flip(-1))), labels)
    return validation


if __name__ == "__main__":
    state = build()
    for n in range(2):
        print(f"step {n}: {step(n, *state).item():.6f}")
