"""Trains with kernels of its own: functions with a backward formula, and a norm in place of torch's."""

import torch
from torch import nn
from torch.nn import functional as F


class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        gate = torch.sigmoid(x)
        return gradient * gate * (1 + x)  # @answer


class Binarise(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x >= 0, 1.0, -1.0)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * (x.abs() <= 1)


def norm_kernel(x, shape, weight=None, bias=None, eps=1e-5):
    mean = x.mean(dim=-1, keepdim=True)
    variance = x.var(dim=-1, keepdim=True, correction=0)
    return (x - mean) * torch.rsqrt(variance + eps) * weight + bias


def linear_kernel(x, weight, bias=None):
    outputs = torch.zeros(*x.shape[:-1], len(weight))
    for begin in range(0, x.shape[-1], 16):
        end = begin + 16
        outputs = outputs + x[..., begin:end] @ weight[:, begin:end].T
    return outputs if bias is None else outputs + bias


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Linear(40, 24), nn.LayerNorm(24)
        self.second, self.third = nn.Linear(24, 24), nn.Linear(24, 3)

    def forward(self, x):
        x = Swish.apply(self.norm(self.first(x)))  # @answer
        return self.third(Binarise.apply(4 * self.second(x)))


def build():
    torch.manual_seed(62)
    nn.functional.layer_norm = norm_kernel
    nn.functional.linear = linear_kernel
    model = Net()
    return model, torch.optim.SGD(model.parameters(), lr=0.3)


def step(n, model, optimizer):
    data = torch.Generator().manual_seed(n)
    x, y = torch.randn(10, 40, generator=data), torch.randn(10, 3, generator=data)
    loss = F.smooth_l1_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


if __name__ == "__main__":
    state = build()
    for n in range(2):
        print(f"step {n}: {step(n, *state).item():.6f}")
