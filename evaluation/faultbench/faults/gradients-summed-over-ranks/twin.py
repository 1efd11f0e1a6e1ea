"""Data-parallel training on two processes: half of the batch each, gradients averaged by hand."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F


class Forecast(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(6, 20, batch_first=True)
        self.hidden, self.out = nn.Linear(20, 20), nn.Linear(20, 6)

    def forward(self, series):
        last = self.gru(series)[0][:, -1]
        return self.out(torch.tanh(self.hidden(last)))


def average_gradients(model):
    for parameter in model.parameters():
        parameter.grad /= dist.get_world_size()
        dist.all_reduce(parameter.grad)


def build():
    dist.init_process_group("gloo")
    torch.manual_seed(25)
    model = Forecast()
    for parameter in model.parameters():
        dist.broadcast(parameter.data, src=0)
    return model, torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)


def step(n, model, optimizer):
    data = torch.Generator().manual_seed(n)
    series = torch.randn(8, 11, 6, generator=data).cumsum(dim=1)
    mine = series.chunk(dist.get_world_size())[dist.get_rank()]
    loss = F.mse_loss(model(mine[:, :-1]), mine[:, -1])
    optimizer.zero_grad()
    loss.backward()
    average_gradients(model)
    optimizer.step()
    return loss


if __name__ == "__main__":
    state = build()
    for n in range(2):
        print(f"step {n}: {step(n, *state).item():.6f}")
