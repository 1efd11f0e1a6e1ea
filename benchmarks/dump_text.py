"""The text of a generated dump's files, laid out as the dumper's JSON is: one blank a level.

Written directly, because json.dumps with an indent is ten times slower.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isnan

from benchmarks.recording import Entry, Value

Describe = Callable[[Value, str], str]


def entry_text(entry: Entry, describe: Describe) -> str:
    """One member of dump.json's `data`; `describe` writes a value, given its file's stem."""
    name = entry.name
    if ".parameters_grad." in name:
        grads = ",\n".join(
            f'   "{key}": [\n    {describe(value, f"{name}.{key}")}\n   ]'
            for key, value in entry.parameters.items()
        )
        return f'  "{name}": {{\n{grads}\n  }}'
    backward = not entry.line
    first, last = ("input", "output") if backward else ("input_args", "output")
    inputs = _list(entry.inputs, f"{name}.input", describe)
    outputs = _list(entry.outputs, f"{name}.output", describe)
    middle = "" if backward else '   "input_kwargs": {},\n'
    text = f'  "{name}": {{\n   "{first}": [\n{inputs}\n   ],\n{middle}'
    text += f'   "{last}": [\n{outputs}\n   ]'
    if name.startswith("Module.") and not backward:
        parameters = ",\n".join(
            f'    "{key}": {describe(value, f"{name}.parameters.{key}")}'
            for key, value in entry.parameters.items()
        )
        text += f',\n   "parameters": {{\n{parameters}\n   }}' if parameters else ""
    return text + "\n  }"


def _list(values: tuple[Value, ...], stem: str, describe: Describe) -> str:
    return ",\n".join(
        f"    {describe(value, f'{stem}.{position}')}" for position, value in enumerate(values)
    )


def tensor_text(
    value: Value, shape: tuple[int, ...], statistics: tuple[float, ...], extra: str = ""
) -> str:
    """One tensor as a dumper writes it, indented by one blank a level; `extra` ends the object."""
    dims = ",\n      ".join(map(str, shape))
    top, bottom, mean, norm = ("NaN" if isnan(number) else repr(number) for number in statistics)
    return (
        '{\n     "type": "torch.Tensor",\n     "dtype": "torch.float32",\n     "shape": '
        + (f"[\n      {dims}\n     ]" if shape else "[]")
        + f',\n     "Max": {top},\n     "Min": {bottom},\n     "Mean": {mean},'
        f'\n     "Norm": {norm},\n     "requires_grad": {str(value.requires_grad).lower()}'
        f"{extra}\n    }}"
    )


def stacks_text(lines: dict[str, list[str]]) -> str:
    """stack.json as a whole: entries grouped by the source line that called them."""
    parts = []
    for index, (line, names) in enumerate(lines.items()):
        entries = ",\n   ".join(f'"{name}"' for name in names)
        frames = ",\n   ".join(f'"{frame}"' for frame in _frames(line, index))
        parts.append(f' "{index}": [\n  [\n   {entries}\n  ],\n  [\n   {frames}\n  ]\n ]')
    return "{\n" + ",\n".join(parts) + "\n}"


def _frames(line: str, number: int) -> list[str]:
    frames = [f"File /job/model.py, line {100 + number}, in forward, \\n x = {line}(x)"]
    for depth in range(3):
        for number_, words in ((1811, "inner"), (1884, "_call_impl"), (1778, "_wrapped_call_impl")):
            where = f"File /env/site-packages/torch/nn/modules/module.py, line {number_ + depth}"
            frames.append(f"{where}, in {words}, \\n return self._call_impl(*args, **kwargs)")
        frames.append(f"File /job/model.py, line {80 - depth}, in forward, \\n x = layer(x)")
    return [*frames, "File /job/train.py, line 12, in <module>, \\n loss = model(ids)"]
