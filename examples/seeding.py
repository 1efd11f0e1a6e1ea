"""Fixed random numbers: python examples/seeding.py"""

from __future__ import annotations

import torch

from msprobe.pytorch import seed_all

seed_all(seed=1234, mode=True)  # two runs of this script print the same two numbers
print(torch.mean(torch.randn(2, 2)).item())
print(torch.mean(torch.randn(2, 2)).item())

seed_all(seed=1234, mode=True, is_enhanced=True)  # and now each draw gives the same number
print(torch.mean(torch.randn(2, 2)).item())
print(torch.mean(torch.randn(2, 2)).item())
