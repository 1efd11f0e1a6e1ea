"""A training loop of three steps, modules and calls: python examples/training_loop.py OUT"""

from __future__ import annotations

import torch
from net import ModuleOP, out_folder
from torch.utils.data import DataLoader, TensorDataset

from msprobe.pytorch import PrecisionDebugger, seed_all

seed_all()
debugger = PrecisionDebugger(dump_path=out_folder(), level="mix")

data_loader = DataLoader(TensorDataset(torch.randn(12, 8), torch.randn(12, 2)), batch_size=4)
model = ModuleOP()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for data, label in data_loader:
    debugger.start(model)

    optimizer.zero_grad()
    output = model(data)
    loss = torch.nn.functional.mse_loss(output, label)
    loss.backward()
    optimizer.step()

    debugger.stop()
    debugger.step()
