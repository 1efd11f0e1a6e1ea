import sys, json, os
os.environ.setdefault("OMP_NUM_THREADS","1")
import torch, torch.nn as nn, torch.nn.functional as F
torch.set_num_threads(1)
from msprobe.pytorch import PrecisionDebugger, seed_all
task, fault, out = sys.argv[1], sys.argv[2], sys.argv[3]
level = sys.argv[4] if len(sys.argv)>4 else "mix"
seed_all(1234)
class Block(nn.Module):
    def __init__(s,d):
        super().__init__(); s.norm=nn.LayerNorm(d); s.fc1=nn.Linear(d,2*d); s.fc2=nn.Linear(2*d,d)
    def forward(s,x):
        h=F.gelu(s.fc1(s.norm(x)))
        return x+s.fc2(h)
class Net(nn.Module):
    def __init__(s):
        super().__init__(); s.emb=nn.Embedding(16,8); s.layers=nn.ModuleList([Block(8) for _ in range(2)]); s.head=nn.Linear(8,16)
    def forward(s,i):
        x=s.emb(i)
        for k,l in enumerate(s.layers):
            x=l(x)
            if fault=="scale" and k==1: x=x*1.5
            if fault=="scale12" and k==1: x=x*1.2
            if fault=="extra" and k==0: F.gelu(x)
        return s.head(x)
net=Net()
if fault=="nan":
    with torch.no_grad(): net.layers[1].fc1.weight[0,0]=float("nan")
opt=torch.optim.SGD(net.parameters(),lr=0.1)
cfg={"task":"statistics","level":level,"dump_path":out,"rank":[],"step":[0,1]}
if task=="tensor": cfg["task"]="tensor"; cfg["tensor"]={"scope":[],"list":[],"data_mode":["all"]}
elif task in("md5","xor","crc32"): cfg["statistics"]={"scope":[],"list":[],"data_mode":["all"],"summary_mode":task}
elif task=="structure": cfg["task"]="structure"
else: cfg["statistics"]={"scope":[],"list":[],"data_mode":["all"],"summary_mode":"statistics"}
json.dump(cfg,open(out+".json","w"))
dbg=PrecisionDebugger(config_path=out+".json")
for s in range(2):
    ids=torch.randint(0,16,(2,4)); tgt=torch.randint(0,16,(2,4))
    dbg.start(net)
    opt.zero_grad()
    loss=F.cross_entropy(net(ids).reshape(-1,16),tgt.reshape(-1))
    loss.backward(); opt.step()
    dbg.stop(); dbg.step()
