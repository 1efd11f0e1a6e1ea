"""What a recorded step of MindSpore costs, beside a plain one and one of mindstudio-probe.

    .venv-mindspore/bin/python benchmarks/mindspore_steps.py --peer FOLDER

FOLDER is what `pip install --target FOLDER --no-deps mindstudio-probe==26.2.0 'pandas<3' …` made.
Its dumper calls `mint.norm`, which has no kernel on the CPU, so that it is taken away there. Each
run is a process of its own; the kinds take turns, and of each the median over all steps is told.
"""

# What MindSpore makes has no types.
# ruff: noqa: ANN001, ANN202

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "cross_framework"
LEVELS = ("L0", "L1", "mix")
WARM, MEASURED = 2, 5


def main() -> None:
    parse = argparse.ArgumentParser(description=__doc__)
    parse.add_argument("--peer", type=Path)
    parse.add_argument("--rounds", type=int, default=2)
    parse.add_argument("--one", nargs=2, metavar=("KIND", "LEVEL"))
    options = parse.parse_args()
    if options.one:
        print(json.dumps(measured(*options.one)))
        return
    kinds = ["plain", "ours", *(["peer"] if options.peer else [])]
    for level in LEVELS:
        found: dict[str, list[float]] = {kind: [] for kind in kinds}
        for _ in range(options.rounds):
            for kind in kinds:
                found[kind] += of_process(kind, level, options.peer)
        middle = {kind: statistics.median(seconds) for kind, seconds in found.items()}
        times = "  ".join(f"{kind} {1e3 * each:8.1f} ms" for kind, each in middle.items())
        print(f"{level:4} {times}  {beside(middle) if options.peer else ''}", flush=True)


def beside(seconds: dict[str, float]) -> str:
    """Our share of what the other dumper costs: of a step, and of what is added to a plain one."""
    plain, ours, peer = (seconds[kind] for kind in ("plain", "ours", "peer"))
    return f"ours / peer {ours / peer:.2f}, added {(ours - plain) / (peer - plain):.2f}"


def of_process(kind: str, level: str, peer: Path | None) -> list[float]:
    """The seconds of each measured step of a process of its own."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    if kind == "peer":
        environment["PYTHONPATH"] = str(peer)
    command = [sys.executable, "-W", "ignore", __file__, "--one", kind, level]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{kind} {level}: {done.stderr[-2000:]}")
    seconds: list[float] = json.loads(done.stdout.splitlines()[-1])
    return seconds


def measured(kind: str, level: str) -> list[float]:
    """Train the small transformer and time its steps, recorded or not."""
    import mindspore as ms

    if kind == "peer":
        del ms.mint.norm
    sys.path.insert(0, str(EXAMPLE))
    import in_mindspore

    ms.set_device("CPU")
    ms.set_context(mode=ms.PYNATIVE_MODE)
    ms.runtime.launch_blocking()
    model = in_mindspore.SmallTransformer("")
    in_mindspore.load(model, "", 7)
    optimizer = ms.nn.SGD(model.trainable_params(), learning_rate=0.1)
    tokens = ms.Tensor(in_mindspore.batch())

    def loss_of(inputs):
        logits = model(inputs).reshape(-1, in_mindspore.VOCABULARY)
        return ms.ops.cross_entropy(logits, inputs.reshape(-1))

    gradients = ms.value_and_grad(loss_of, None, model.trainable_params())
    with tempfile.TemporaryDirectory() as folder:
        debugger = (
            None if kind == "plain" else in_mindspore.PrecisionDebugger(settings(folder, level))
        )
        seconds = []
        for _ in range(WARM + MEASURED):
            begin = time.perf_counter()
            if debugger is not None:
                debugger.start(model)
            loss, found = gradients(tokens)
            optimizer(found)
            loss.asnumpy()
            if debugger is not None:
                debugger.stop()
                debugger.step()
            seconds.append(time.perf_counter() - begin)
    return seconds[WARM:]


def settings(folder: str, level: str) -> str:
    """A configuration that both dumpers take."""
    path = Path(folder, "config.json")
    content = {"task": "statistics", "level": level, "dump_path": f"{folder}/dump"}
    section = {"scope": [], "list": [], "data_mode": ["all"]}
    path.write_text(json.dumps({**content, "rank": [], "step": [], "statistics": section}))
    return str(path)


if __name__ == "__main__":
    main()
