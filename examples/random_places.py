"""Where a script draws random numbers, as a CSV file: python examples/random_places.py OUT"""

from __future__ import annotations

import torch
from net import out_folder

from msprobe.pytorch import random_save

random_save(output_path=out_folder())

x = torch.randn(10, 8)
y = torch.nn.functional.dropout(x, 0.5)
