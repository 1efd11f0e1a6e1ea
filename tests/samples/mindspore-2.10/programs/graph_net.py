"""graph_net.py OUT [multiply|scale|weight] [LIST…]: a net in GRAPH_MODE, its kernels dumped at level L2."""
import json
import sys
from pathlib import Path

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn

from msprobe.mindspore import PrecisionDebugger

out, fault, *kernels = [*sys.argv[1:], ""][: max(2, len(sys.argv) - 1)]
ms.set_device("CPU")
ms.set_context(mode=ms.GRAPH_MODE)
config = {"task": "tensor", "level": "L2", "dump_path": out, "step": [0], "tensor": {"list": kernels}}
Path(out).mkdir(parents=True, exist_ok=True)
Path(out, "config.json").write_text(json.dumps(config))
debugger = PrecisionDebugger(config_path=f"{out}/config.json")
debugger.start()


class Mlp(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc1, self.act, self.fc2 = nn.Dense(8, 16), nn.ReLU(), nn.Dense(16, 8)

    def construct(self, x):
        x = self.act(self.fc1(x))
        if fault == "multiply":
            x = x * 1.3
        return self.fc2(x)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.norm, self.mlp, self.head = nn.LayerNorm((8,)), Mlp(), nn.Dense(8, 3)

    def construct(self, x):
        x = x + self.mlp(self.norm(x))
        return self.head(x * (0.5 if fault == "scale" else 0.25))


net, draw = Net(), np.random.RandomState(5)
for name, parameter in net.parameters_and_names():
    value = draw.standard_normal(parameter.shape).astype(np.float32) * 0.3
    wrong = fault == "weight" and name == "mlp.fc2.weight"
    parameter.set_data(Tensor(value * np.float32(1.01) if wrong else value))
batch = Tensor(draw.rand(4, 8).astype(np.float32)), Tensor(draw.randint(0, 3, 4).astype(np.int32))
loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
step = nn.TrainOneStepCell(nn.WithLossCell(net, loss), optimizer).set_train()
for _ in range(2):
    print("loss", step(*batch))
    debugger.stop()
    debugger.step()
debugger.close()
