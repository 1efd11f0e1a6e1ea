"""Writes a script that runs one recorded call alone and prints its error against float64.

The script needs torch and nothing else; its data stand in it, or beside it where they are large.
"""

from __future__ import annotations

import base64
import io
import math
from pathlib import Path
from string import Template

import torch

from builder.errors import InputError, OutputError
from msprobe.acc_check.functions import changes_arguments, find_function
from msprobe.acc_check.inputs import Inputs, Source, Tree, make_inputs
from msprobe.acc_check.plan import Call
from msprobe.acc_check.values import NotReproducible

_LARGEST_INSIDE = 256 * 1024  # bytes; longer scripts are no pleasure to open
_LINE = 96
_ANOTHER = "choose another call with -n"
_CALLABLES = {
    "Tensor": "torch.Tensor.{}",
    "Torch": "torch.{}",
    "Functional": "torch.nn.functional.{}",
    "VF": "torch._VF.{}",
    "Aten": "torch.ops.aten.{}",
    "NPU": "torch_npu.{}",
}


def write_script(call: Call, source: Source, script: Path, seed: int) -> list[Path]:
    """Write the script, and a data file where need be; returns what was written.

    Raises InputError for a call that cannot be run, OutputError for a place that cannot be used.
    """
    if call.skip is not None:
        raise InputError(f"{call.name}: {call.skip}", _ANOTHER)
    try:
        find_function(call.prefix, call.api)
        inputs = make_inputs(call, source)
    except NotReproducible as reason:
        raise InputError(f"{call.name}: {reason}", _ANOTHER) from None
    tensors = _Tensors()
    args = ", ".join(tensors.source(arg) for arg in inputs.args)
    kwargs = ", ".join(f"{key!r}: {tensors.source(v)}" for key, v in inputs.kwargs.items())
    data = {"inputs": tensors.found, "gradients": inputs.gradients}
    buffer = io.BytesIO()
    torch.save(data, buffer)
    inside = buffer.tell() <= _LARGEST_INSIDE
    beside = script.with_suffix(".pt")
    text = _SCRIPT.substitute(
        name=call.name,
        origin="recorded" if inputs.is_recorded else f"drawn with seed {seed}",
        imports="import torch_npu\n" if call.prefix == "NPU" else "",
        function=_CALLABLES[call.prefix].format(call.api),
        data=_inside(buffer.getvalue()) if inside else _beside(beside),
        args=args,
        kwargs="{" + kwargs + "}",
        needs=[tensor.requires_grad for tensor in tensors.found],
        backward=inputs.has_backward,
        copied=_copied(call, inputs),
    )
    try:
        script.parent.mkdir(parents=True, exist_ok=True)
        script.write_text(text, encoding="utf-8")
        if not inside:
            beside.write_bytes(buffer.getvalue())
    except OSError as error:
        raise OutputError(f"{script}: {error.strerror}", "give another file with -o") from None
    return [script] if inside else [script, beside]


class _Tensors:
    """Collects the tensors of a call while its arguments become source text."""

    def __init__(self) -> None:
        self.found: list[torch.Tensor] = []

    def source(self, value: Tree) -> str:
        """The Python expression of an argument; a tensor is `t[n]`."""
        if isinstance(value, torch.Tensor):
            self.found.append(value)
            return f"t[{len(self.found) - 1}]"
        if isinstance(value, list):
            return "[" + ", ".join(self.source(each) for each in value) + "]"
        if isinstance(value, dict):
            return "{" + ", ".join(f"{k!r}: {self.source(v)}" for k, v in value.items()) + "}"
        if isinstance(value, float) and not math.isfinite(value):
            return f'float("{value}")'
        if isinstance(value, torch.dtype):
            return f"(wide({value}) if exact else {value})"
        if isinstance(value, torch.device):
            return "torch.device(device)"
        return repr(value)


def _copied(call: Call, inputs: Inputs) -> bool:
    """Whether leaves have to be copied before they are written to."""
    return inputs.has_backward and changes_arguments(call.api)


def _inside(data: bytes) -> str:
    text = base64.b64encode(data).decode()
    lines = [f'    "{text[at : at + _LINE]}"' for at in range(0, len(text), _LINE)]
    return "io.BytesIO(base64.b64decode(\n" + "\n".join(lines) + "\n))"


def _beside(path: Path) -> str:
    return f"Path(__file__).with_name({path.name!r})"


_SCRIPT = Template('''\
"""Runs $name alone and prints its error against float64 on the CPU.

Usage: python <this file> [device]     (cpu, cuda:0, npu:0; without one the best that is there)
Written by `msprobe op_generate`; needs torch only. Its data are $origin.
"""

import base64
import io
import sys
from pathlib import Path

import torch
$imports
DATA = torch.load($data, weights_only=True)
NEEDS_GRADIENT = $needs


def best_device():
    for kind in ("npu", "cuda", "xpu", "mps"):
        if hasattr(torch, kind) and getattr(torch, kind).is_available():
            return kind
    return "cpu"


def wide(dtype):
    if dtype.is_complex:
        return torch.complex128
    return torch.float64 if dtype.is_floating_point else dtype


def moved(tensor, device, exact):
    return tensor.detach().to(device, wide(tensor.dtype) if exact else tensor.dtype, copy=True)


def flat(value):
    if isinstance(value, (list, tuple)):
        return [leaf for each in value for leaf in flat(each)]
    return [value] if isinstance(value, torch.Tensor) else []


def run(device, exact):
    torch.manual_seed(0)
    leaves = [
        moved(tensor, device, exact).requires_grad_(needs)
        for tensor, needs in zip(DATA["inputs"], NEEDS_GRADIENT)
    ]
    t = [leaf.clone() if $copied else leaf for leaf in leaves]
    with torch.set_grad_enabled($backward):
        output = $function(*[$args], **$kwargs)
    results = {f"output {n}": leaf for n, leaf in enumerate(flat(output))}
    written = {f"input {n}": each for n, each in enumerate(t) if each._version}
    pairs = [
        (out, moved(gradient, device, exact))
        for out, gradient in zip(flat(output), DATA["gradients"])
        if gradient is not None and out.requires_grad and gradient.shape == out.shape
    ]
    wanted = [leaf for leaf in leaves if leaf.requires_grad]
    if pairs and wanted:
        outs, gradients = zip(*pairs)
        found = torch.autograd.grad(outs, wanted, gradients, allow_unused=True)
        results |= {f"gradient {n}": each for n, each in enumerate(found) if each is not None}
    return {name: tensor.detach().cpu() for name, tensor in (results | written).items()}


def report(name, ours, exact):
    if ours.shape != exact.shape:
        return f"{name}: shape {tuple(ours.shape)}, the reference has {tuple(exact.shape)}"
    if not (ours.dtype.is_floating_point or ours.dtype.is_complex):
        return f"{name}: {ours.dtype}, {int((ours != exact).sum())} of {ours.numel()} differ"
    finite = torch.isfinite(ours) & torch.isfinite(exact)
    odd = int((torch.isfinite(ours) != torch.isfinite(exact)).sum())
    error = (ours.to(exact.dtype) - exact).abs()[finite]
    relative = error / exact.abs()[finite].clamp(min=torch.finfo(ours.dtype).tiny)
    largest = float(error.max()) if error.numel() else 0.0
    worst = float(relative.max()) if error.numel() else 0.0
    return (
        f"{name}: {ours.dtype} {tuple(ours.shape)}, largest error {largest:.3g}, largest relative "
        f"error {worst:.3g}, {odd} not finite on one side"
    )


if __name__ == "__main__":
    place = sys.argv[1] if len(sys.argv) > 1 else best_device()
    print(f"$name on {place} against float64 on the CPU")
    device_results, exact_results = run(place, False), run("cpu", True)
    for key, exact_value in exact_results.items():
        print(report(key, device_results[key], exact_value))
''')
