import json,os
def T(mx,mn,me,no,dt="torch.float32",sh=[2,3],rg=False): return {"type":"torch.Tensor","dtype":dt,"shape":sh,"Max":mx,"Min":mn,"Mean":me,"Norm":no,"requires_grad":rg}
def S(t,v): return {"type":t,"value":v}
nan=float('nan'); inf=float('inf')
cases={
 "benchzero":(T(1.0,0.0,.5,2.0),T(0.0,0.0,0.0,0.0)),
 "zeroboth":(T(0.0,0.0,0.0,0.0),T(0.0,0.0,0.0,0.0)),
 "nanboth":(T(nan,nan,nan,nan),T(nan,nan,nan,nan)),
 "nanhere":(T(nan,nan,nan,nan),T(1.0,0.0,.5,2.0)),
 "nanthere":(T(1.0,0.0,.5,2.0),T(nan,nan,nan,nan)),
 "infhere":(T(inf,0.0,inf,inf),T(1.0,0.0,.5,2.0)),
 "infthere":(T(1.0,0.0,.5,2.0),T(inf,0.0,inf,inf)),
 "infboth":(T(inf,-inf,nan,inf),T(inf,-inf,nan,inf)),
 "posneg":(T(inf,inf,inf,inf),T(-inf,-inf,-inf,inf)),
 "intdiff":(T(5,1,None,None,"torch.int64"),T(4,1,None,None,"torch.int64")),
 "booldiff":(T(True,False,None,None,"torch.bool"),T(True,True,None,None,"torch.bool")),
 "fscal":(S("float",1.5),S("float",2.0)),
 "iscal":(S("int",1),S("int",0)),
 "bscal":(S("bool",True),S("bool",False)),
 "sscal":(S("str","mean"),S("str","sum")),
 "ssame":(S("str","mean"),S("str","mean")),
 "kindscal":(S("int",1),S("float",1.0)),
 "none2":(None,T(1.0,0.0,.5,2.0)),
 "none1":(T(1.0,0.0,.5,2.0),None),
 "noneboth":(None,None),
 "tens_scal":(T(1.0,1.0,1.0,1.0,sh=[]),S("float",1.0)),
 "size":({"type":"torch.Size","value":[2,3]},{"type":"torch.Size","value":[2,4]}),
 "slice":({"type":"slice","value":[None,None,2]},{"type":"slice","value":[None,None,2]}),
 "dtypearg":({"type":"torch.dtype","value":"torch.float32"},{"type":"torch.dtype","value":"torch.float32"}),
 "reqgrad":(T(1.0,0.0,.5,2.0,rg=True),T(1.0,0.0,.5,2.0)),
 "dtype":(T(1.0,0.0,.5,2.0,"torch.bfloat16"),T(1.0,0.0,.5,2.0)),
 "shape":(T(1.0,0.0,.5,2.0,sh=[3,2]),T(1.0,0.0,.5,2.0)),
 "strnum":(T("nan","inf","2.5","1.5"),T(1.0,2.0,3.0,1.5)),
 "group":({"type":"torch.ProcessGroup","group_ranks":[0,1],"group_id":"x"},{"type":"torch.ProcessGroup","group_ranks":[0,1],"group_id":"y"}),
 "ellipsis":({"type":"ellipsis","value":"..."},{"type":"ellipsis","value":"..."}),
 "emptyt":(T(None,None,None,None,sh=[0,3]),T(None,None,None,None,sh=[0,3])),
 "complexscal":(S("complex","1j"),S("complex","1j")),
}
cases["normerr"]=(T(1.0,0.0,.5,4.0),T(1.0,0.0,.5,2.0)); cases["normwarn"]=(T(1.0,0.0,.5,2.3),T(1.0,0.0,.5,2.0)); cases["normwarn2"]=(T(1.0,0.0,.5,2.5),T(1.0,0.0,.5,2.0))
import sys
for side,i in(("t",0),("g",1)):
    d=f"edge_{side}/step0/rank0"; os.makedirs(d,exist_ok=True)
    data={}
    for k,v in cases.items():
        x=v[i]
        data[f"Torch.{k}.0.forward"]={"input_args":[x,{"a":x,"b":[x,None]}],"input_kwargs":{"kw":x,"n":None},"output":[T(1.0,0.0,.5,2.0)] if k!="nanhere" and "norm" not in k else [x]}
        if "norm" in k: y=T(1.0,0.0,.5,2.0) if k!="normwarn2" else T(1.0,0.0,.5,2.0 if i else 2.01); data[f"Torch.{k}.0.forward"].update(input_args=[y],input_kwargs={})
    if side=="t": data["Torch.only_t.0.forward"]={"input_args":[T(1.0,0.0,.5,2.0)],"input_kwargs":{},"output":[T(1.0,0.0,.5,2.0)]}
    else: data["Torch.only_g.0.forward"]={"input_args":[T(1.0,0.0,.5,2.0)],"input_kwargs":{},"output":[T(1.0,0.0,.5,2.0)]}
    json.dump({"task":"statistics","level":"L1","framework":"pytorch","dump_data_dir":None,"data":data},open(d+"/dump.json","w"))
