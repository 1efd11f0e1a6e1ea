"""A compiled model, recorded as inference engines do. usage: captured.py OUT LEVEL [--nan] [--wrong]"""
import argparse, json, os, tempfile
ap = argparse.ArgumentParser()
ap.add_argument('out'); ap.add_argument('level')
ap.add_argument('--nan', action='store_true'); ap.add_argument('--wrong', action='store_true')
a = ap.parse_args()
import torch, torch.nn as nn
from msprobe.pytorch import AclGraphDumper
torch.manual_seed(0); torch.set_num_threads(1)
H = 16
class MLP(nn.Module):
    def __init__(s):
        super().__init__(); s.up = nn.Linear(H, 4*H); s.act = nn.GELU(); s.down = nn.Linear(4*H, H)
    def forward(s, x):
        y = s.act(s.up(x))
        if a.wrong:
            y = y * 1.7
        return s.down(y)
class Block(nn.Module):
    def __init__(s):
        super().__init__(); s.norm = nn.LayerNorm(H); s.mlp = MLP()
    def forward(s, x):
        return x + s.mlp(s.norm(x))
class Net(nn.Module):
    def __init__(s):
        super().__init__()
        s.emb = nn.Embedding(32, H); s.layers = nn.ModuleList([Block(), Block()]); s.head = nn.Linear(H, 32)
    def forward(s, ids):
        x = s.emb(ids)
        for layer in s.layers:
            x = layer(x)
        return s.head(x.log() if a.nan else x)
config = os.path.join(tempfile.mkdtemp(), 'config.json')
with open(config, 'w') as file:
    json.dump({"task": "statistics", "level": a.level, "dump_path": a.out}, file)
model, dumper = Net(), AclGraphDumper(config)
dumper.start(model)
run = torch.compile(model, backend='eager', fullgraph=True) if a.level == 'L0' else model
ids = torch.arange(16).reshape(2, 8) * 5 % 32
with torch.inference_mode():
    run(ids); dumper.step(dump=False)   # a dummy run
    for step in range(2):
        run(ids + step); dumper.step()
