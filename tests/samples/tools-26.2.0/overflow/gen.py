import sys, json, os
os.environ.setdefault("OMP_NUM_THREADS","1")
import torch, torch.nn as nn, torch.nn.functional as F, torch.distributed as dist, torch.multiprocessing as mp
torch.set_num_threads(1)
class Block(nn.Module):
    def __init__(s,fault):
        super().__init__(); s.fc1=nn.Linear(8,8); s.fc2=nn.Linear(8,8); s.fault=fault
    def forward(s,x):
        h=F.gelu(s.fc1(x))
        if s.fault=="operation": h=torch.log(h)
        if s.fault=="gradient": h=h+torch.sqrt(h*0.0)
        return s.fc2(h)
def work(r,ws,fault,out,port):
    os.environ.update(MASTER_ADDR="127.0.0.1",MASTER_PORT=str(port),RANK=str(r),WORLD_SIZE=str(ws),LOCAL_RANK=str(r))
    from msprobe.pytorch import PrecisionDebugger, seed_all
    dist.init_process_group("gloo",rank=r,world_size=ws)
    seed_all(1234)
    local = fault if r==1 else "none"
    net=nn.Sequential(Block(local),Block("none"))
    opt=torch.optim.SGD(net.parameters(),lr=0.1)
    if local=="weight":
        with torch.no_grad(): net[1].fc1.weight[0,0]=float("nan")
    dbg=PrecisionDebugger(config_path=out+".json")
    for s in range(2):
        x=torch.randn(4,8)+r
        if local=="input": x[0,0]=float("nan")
        dbg.start(net); opt.zero_grad()
        h=net(x)
        if fault=="collective": h=h*0+3e38
        dist.all_reduce(h)
        loss=h.pow(2).mean() if fault!="collective" else h.mean()
        loss.backward()
        for p in net.parameters(): dist.all_reduce(p.grad)
        opt.step(); dbg.stop(); dbg.step()
    dist.barrier(); dist.destroy_process_group()
if __name__=="__main__":
    fault,out,port=sys.argv[1:4]
    cfg={"task":"statistics","level":"mix","dump_path":out,"rank":[],"step":[],"statistics":{"scope":[],"list":[],"data_mode":["all"],"summary_mode":"statistics"}}
    json.dump(cfg,open(out+".json","w"))
    mp.spawn(work,args=(2,fault,out,int(port)),nprocs=2)
