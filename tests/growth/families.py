"""Dumps of any size, one family for each thing that a real dump may have thousands of.

Each makes the entries of one side by name, and the module that each is in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tests.builder.dumps import Json, backward, forward, tensor

_NO_VALUES: Json = {"input_args": [], "input_kwargs": {}, "output": []}


class Calls(NamedTuple):
    """Entries by name, and the name of the module of those that are in one."""

    entries: Json
    parents: dict[str, str | None]


Family = Callable[[int, bool], Calls]
"""Makes one side of so many calls; the second says whether it is the one with the fault."""


def _constant(value: float, **more: object) -> Json:
    return tensor(Max=value, Min=value, Mean=value, Norm=2 * abs(value), **more)


def _chain(count: int, value: Callable[[int], Json], gradient: Callable[[int], Json]) -> Calls:
    """Calls that each read what the last put out, and the backward pass through all of them."""
    entries = {
        f"Torch.add.{at}.forward": forward([value(at), value(at)], [value(at + 1)])
        for at in range(count)
    }
    for at in reversed(range(count)):
        ends = gradient(at + 1), gradient(at)
        entries[f"Torch.add.{at}.backward"] = backward([ends[0]], [ends[1], ends[1]])
    return Calls(entries, {})


def own_values(count: int, faulty: bool) -> Calls:
    """A chain in which every value is its own; from the middle on they differ."""
    middle, off = count // 2, 1.5 if faulty else 1.0

    def value(at: int) -> Json:
        return tensor((1000.0 + at) * (off if at > middle else 1.0))

    return _chain(count, value, lambda at: tensor(-(3000.0 + at) * off))


def zeros(count: int, faulty: bool) -> Calls:
    """Zeros everywhere, as frozen and masked parts have them."""
    off = float(faulty)
    return _chain(
        count, lambda at: _constant(off if at == count // 2 else 0.0), lambda _: _constant(0.0)
    )


def constants(count: int, faulty: bool) -> Calls:
    """One constant that all calls read and put out, in both passes."""
    off = 0.125 * faulty
    return _chain(
        count, lambda at: _constant(0.5 + off * (at > count // 2)), lambda _: _constant(0.25)
    )


def equal_gradients(count: int, faulty: bool) -> Calls:
    """Values of their own, and one gradient that every backward call hands on."""
    off = float(faulty)
    return _chain(count, lambda at: tensor(1.0 + at + off), lambda _: _constant(0.25))


def followed_constants(count: int, faulty: bool) -> Calls:
    """One constant everywhere, in a dump that says who put out what was read."""
    entries, parents = constants(count, faulty)
    for at in range(1, count):
        entries[f"Torch.add.{at}.forward"]["input_args"][0] = _constant(
            0.5, source=f"Torch.add.{at - 1}.forward.output.0"
        )
        entries[f"Torch.add.{at - 1}.backward"]["input"][0] = _constant(
            0.25, source=f"Torch.add.{at}.backward.output.0"
        )
    return Calls(entries, parents)


def checksums(count: int, faulty: bool) -> Calls:
    """One checksum everywhere."""
    entries, parents = constants(count, faulty)
    for entry in entries.values():
        for values in entry.values():
            for each in values:
                each["md5"] = f"{int(faulty and each['Max'] > 0.5):08x}"
    return Calls(entries, parents)


def one_read_by_all(count: int, faulty: bool) -> Calls:
    """One tensor that every call reads beside its own."""
    shared = tensor(5.0 + faulty)
    entries: Json = {"Torch.mul.0.forward": forward([tensor(4.0)], [shared])}
    for at in range(count):
        entries[f"Torch.add.{at}.forward"] = forward(
            [shared, tensor(9.0 + at)], [tensor(10.0 + at)]
        )
    for at in reversed(range(count)):
        ends = [tensor(1e4 - at)], [tensor(2e4 - at), shared]
        entries[f"Torch.add.{at}.backward"] = backward(*ends)
    return Calls(entries, {})


def one_written_by_all(count: int, faulty: bool) -> Calls:
    """One tensor that every call puts out again, as calls that work in place do."""
    shared = tensor(5.0 + faulty)
    entries = {
        f"Tensor.add_.{at}.forward": forward([shared, tensor(9.0 + at)], [shared])
        for at in range(count)
    }
    return Calls(entries, {})


def silent(count: int, faulty: bool) -> Calls:
    """A call with values, then many without, again and again: one long chain of them at the end."""
    entries, names = {}, ("view", "cat", "chunk", "clamp", "expand", "to", "softmax")
    for at in range(count):
        name, number = names[at % 7], at // 7
        values = [tensor(7.0 + at + faulty)], [tensor(8.5 + 2 * at + faulty)]
        told = at < count // 2 and at % 3 == 0
        entries[f"Torch.{name}.{number}.forward"] = forward(*values) if told else _NO_VALUES
    entries["Torch.matmul.0.forward"] = forward([tensor(3.0)], [tensor(2.0 + faulty)])
    return Calls(entries, {})


def many_outputs(count: int, faulty: bool) -> Calls:
    """One call with many outputs and gradients, each read by a call of its own."""
    parts = [tensor(10.0 + at + (faulty and at > count // 2)) for at in range(count)]
    gradients = [_constant(0.25 + at // 3) for at in range(count)]
    entries: Json = {"Torch.split.0.forward": forward([tensor(4.0)], parts)}
    for at, part in enumerate(parts):
        entries[f"Torch.mul.{at}.forward"] = forward([part], [tensor(1e5 + at)])
    for at, gradient in enumerate(gradients):
        entries[f"Torch.mul.{at}.backward"] = backward([tensor(2e5 + at)], [gradient])
    entries["Torch.split.0.backward"] = backward(gradients, [tensor(3e5)])
    return Calls(entries, {})


def many_inputs(count: int, faulty: bool) -> Calls:
    """One call that joins what many have put out, with a gradient for each of them."""
    parts = [tensor(10.0 + at + (faulty and at > count // 2)) for at in range(count)]
    gradients = [_constant(0.25 + at // 3) for at in range(count)]
    entries: Json = {
        f"Torch.mul.{at}.forward": forward([tensor(1e5 + at)], [part])
        for at, part in enumerate(parts)
    }
    entries["Torch.cat.0.forward"] = forward([parts], [tensor(4.0)])
    entries["Torch.cat.0.backward"] = backward([tensor(3e5)], gradients)
    for at, gradient in enumerate(gradients):
        entries[f"Torch.mul.{at}.backward"] = backward([gradient], [tensor(2e5 + at)])
    return Calls(entries, {})


def nested(count: int, faulty: bool) -> Calls:
    """Modules in modules; their names are short, for a path in full is a text that grows itself."""
    names = [f"Module.m{at}.Block.forward.0" for at in range(count)]
    entry = forward([tensor()], [tensor(8.0 + faulty)])
    return Calls(dict.fromkeys(reversed(names), entry), dict(zip(names, [None, *names[:-1]])))


def siblings(count: int, faulty: bool) -> Calls:
    """Modules of one shape side by side, of other names on each side."""
    entries: Json = {}
    for at in range(count):
        name = f"Module.{'xy'[faulty]}{at}.Linear.forward.0"
        weight = tensor(6.0 + at, shape=[8, at % 7 + 1])
        entries[name] = forward(
            [tensor(2.0 + at)], [tensor(3.0 + at)], parameters={"weight": weight}
        )
    return Calls(entries, dict.fromkeys(entries))


def ported(count: int, faulty: bool) -> Calls:
    """Layers with one fused weight on a side, and with three in its place on the other."""
    entries: Json = {}
    parents: dict[str, str | None] = {}
    for at in range(count):
        sizes = [2.0 + 3 * at, 3.0 + 3 * at, 4.0 + 3 * at]
        weights = {name: _spread(size, 8, size) for name, size in zip("qkv", sizes)}
        if faulty:
            weights = {"qkv": _spread(sizes[-1], 24, sum(size**2 for size in sizes) ** 0.5)}
        layer = f"Module.{'hl'[faulty]}.{at}.attn.Attention.forward.0"
        moved = 0.5 if faulty and at == count // 2 else 0.0
        ends = [tensor(1000.0 + at)], [tensor(1001.0 + at + moved)]
        for name, weight in weights.items():
            path = f"Module.{'hl'[faulty]}.{at}.attn.{name}.Linear.forward.0"
            made = [tensor(5000.0 + at, shape=[2, len(weights)])]
            entries[path] = forward(ends[0], made, parameters={"weight": weight})
            parents[path] = layer
        entries[layer] = forward(*ends)
        parents[layer] = None
    return Calls(entries, parents)


def ported_calls(count: int, faulty: bool) -> Calls:
    """Layers under other names with calls between them, one of which leaves the other's values."""
    entries: Json = {}
    for at in range(count):
        off = 0.5 if faulty and at >= count // 2 else 0.0
        read, made = 1000.0 + 3 * at, 1001.0 + 3 * at
        weight = _spread(2.0 + at, 8, 40.0 + at)
        path = f"Module.{'hl'[faulty]}.{at}.fc.Linear.forward.0"
        ends = [tensor(read + off)], [tensor(made + off)]
        entries[path] = forward(*ends, parameters={"weight": weight})
        entries[f"Torch.{'tanh' if faulty else 'gelu'}.{at}.forward"] = forward(
            ends[1], [tensor(read + 3 + (0.5 if faulty and at >= count // 2 - 1 else 0.0))]
        )
    return Calls(entries, dict.fromkeys(entries))


def ported_likes(count: int, faulty: bool) -> Calls:
    """The same where values of all layers are of one norm but for their fifth digit."""
    calls = ported_calls(count, faulty)
    for at, entry in enumerate(calls.entries.values()):
        for each in (*entry["input_args"], *entry["output"]):
            each["Norm"] = 5.0 + at * 1e-5
    return calls


def _spread(peak: float, rows: int, norm: float) -> Json:
    return tensor(Max=peak, Min=-peak, Mean=0.0, Norm=norm, shape=[rows, 4])


def parameters(count: int, faulty: bool) -> Calls:
    """One module with many parameters, their gradients, and what an optimizer did to them."""
    weights = {f"w{at}": tensor(6.0 + at) for at in range(count)}
    gradients = {f"w{at}": [_constant(0.0 if at % 2 else 0.25)] for at in range(count)}
    name = "Module.all.Block"
    entries: Json = {
        f"{name}.forward.0": forward([tensor()], [tensor(8.0 + faulty)], parameters=weights),
        f"{name}.parameters_grad.0": gradients,
        f"{name}.backward.0": backward([tensor(1.0)], [tensor(0.5)]),
    }
    for at in range(count):
        ends = {"gradient": gradients[f"w{at}"][0]}, {"value": tensor(7.0 + at + faulty)}
        values = {"input": ends[0], "parameters": {"value": weights[f"w{at}"]}, "output": ends[1]}
        entries[f"Optimizer.all.w{at}.0.forward"] = values
    return Calls(entries, {})


def renamed(count: int, faulty: bool) -> Calls:
    """Calls of which none has a partner of its name."""
    letter, half = "ab"[faulty], max(1, count // 2)
    entries = {
        f"Functional.{letter}{at % half}.{at // half}.forward": forward(
            [tensor(1.0 + at)], [tensor(2.0 + at)]
        )
        for at in range(count)
    }
    return Calls(entries, {})


def shuffled(count: int, faulty: bool) -> Calls:
    """The same calls in another order on each side: each score of them turned round."""
    order = [at - at % 20 + (19 - at % 20 if faulty else at % 20) for at in range(count)]
    entries = {
        f"Functional.f{at % 50}.{at // 50}.forward": forward(
            [tensor(1000.0 + at)], [tensor(2000.0 + at)]
        )
        for at in order
    }
    return Calls(entries, {})


def arguments(count: int, faulty: bool) -> Calls:
    """Calls that are each given another number, which changes nothing."""
    entries = {
        f"Functional.dropout.{at}.forward": forward(
            [tensor(1000.0 + at), {"type": "float", "value": at + 0.5 * faulty}],
            [tensor(1001.0 + at)],
        )
        for at in range(count)
    }
    return Calls(entries, {})


def gradients(count: int, faulty: bool) -> Calls:
    """Modules of which nobody recorded the backward pass: gradients of zeros, and their own."""
    entries: Json = {}
    for at in range(count):
        name = f"Module.layers.{at}.Linear"
        entries[f"{name}.forward.0"] = forward(
            [tensor(1000.0 + at)], [tensor(1001.0 + at)], parameters={"w": tensor(5.0 + at)}
        )
    for at in range(count):
        own = _constant(0.0) if at % 2 else tensor(9.0 + at + faulty)
        entries[f"Module.layers.{at}.Linear.parameters_grad.0"] = {"w": [own]}
    return Calls(entries, {name: None for name in entries if "grad" not in name})


def micro_batches(count: int, faulty: bool) -> Calls:
    """One module that is called for each of many micro-batches, whose gradients are added up.

    A fault before all of them is in each, and every second backward pass leaves its gradients.
    """
    name, entries = "Module.net.Linear", dict[str, Json]()
    entries["Torch.scale.0.forward"] = forward([tensor(3.0)], [tensor(4.0 + faulty)])
    for at in range(count):
        read, made = tensor(4.0 + faulty), tensor(100.0 + at + faulty)
        entries[f"{name}.forward.{at}"] = forward([read], [made], parameters={"w": tensor(5.0)})
    for at in range(count):
        entries[f"{name}.backward.{at}"] = backward([tensor(1.0)], [tensor(0.5)])
        if at % 2:
            own = tensor(9.0 + at * (1 + faulty))
            entries[f"{name}.parameters_grad.{at // 2}"] = {"w": [own]}
    return Calls(entries, {name: None for name in entries if "grad" not in name})


def tied(count: int, faulty: bool) -> Calls:
    """Pairs of modules that read one weight each: here one gradient for both, there its parts."""
    entries: Json = {}
    for at in range(count):
        weight = tensor(5.0 + at // 2)
        name = f"Module.layers.{at}.Linear"
        entries[f"{name}.forward.0"] = forward([tensor()], [tensor()], parameters={"w": weight})
    for at in range(count):
        own = (0.25 if at % 2 else 0.75) if faulty else 1.0
        gradient = tensor(own * (100.0 + at // 2))
        entries[f"Module.layers.{at}.Linear.parameters_grad.0"] = {"w": [gradient]}
    return Calls(entries, {name: None for name in entries if "grad" not in name})


def one_more(count: int, faulty: bool) -> Calls:
    """Calls of one name, one more of them on one side."""
    entries = {
        f"Functional.relu.{at}.forward": forward([tensor(1.0 + at)], [tensor(2.0 + at)])
        for at in range(count + faulty)
    }
    return Calls(entries, {})


def one_name(count: int, faulty: bool) -> Calls:
    """Calls of one name outside modules, that read nothing of each other and all differ."""
    entries = {
        f"Functional.relu.{at}.forward": forward(
            [tensor(1.0 + at)], [tensor(2.0 + at * (1 + faulty))]
        )
        for at in range(count)
    }
    return Calls(entries, {})


def findings(count: int, faulty: bool) -> Calls:
    """Calls that have nothing to do with each other, every one of them wrong."""
    off = 1.3 if faulty else 1.0
    entries = {
        f"Functional.op{at}.0.forward": forward([tensor(1.0 + at)], [tensor((2000.0 + at) * off)])
        for at in range(count)
    }
    return Calls(entries, {})


def one_cause(count: int, faulty: bool) -> Calls:
    """Layers of one class, in each of which the same call is wrong: as many places of one cause."""
    entries: Json = {}
    parents: dict[str, str | None] = {}
    for at in range(count):
        layer = f"Module.layers.{at}.Block.forward.0"
        inside = [f"Functional.linear.{at}.forward", f"Functional.gelu.{at}.forward"]
        read, made = tensor(1e4 + at), tensor(2e4 + at)
        wrong = tensor((3e4 + at) * (1.3 if faulty else 1.0))
        entries[inside[0]] = forward([read], [made])
        entries[inside[1]] = forward([made], [wrong])
        entries[layer] = forward([read], [wrong])
        parents |= dict.fromkeys(inside, layer)
    return Calls(entries, parents)


def silent_chain(count: int, faulty: bool) -> Calls:
    """Two calls with values and one chain of calls without any between them, in both passes."""
    ends = tensor(4.0), tensor(5.0 + faulty)
    entries: Json = {"Torch.mul.0.forward": forward([tensor(3.0)], [ends[0]])}
    entries |= {f"Tensor.view.{at}.forward": _NO_VALUES for at in range(count)}
    entries["Torch.matmul.0.forward"] = forward([{**ends[0], "shape": [4]}], [ends[1]])
    entries["Torch.matmul.0.backward"] = backward([tensor(6.0)], [tensor(7.0 + faulty)])
    for at in reversed(range(count)):
        entries[f"Tensor.view.{at}.backward"] = backward([], [])
    entries["Torch.mul.0.backward"] = backward([tensor(7.0 + faulty)], [tensor(8.0)])
    return Calls(entries, {})


def healing(count: int, faulty: bool) -> Calls:
    """Calls that each put out something else, and behind each one that puts out the same again."""
    entries: Json = {}
    for at in range(count):
        between = tensor((2000.0 + at) * (1.3 if faulty else 1.0))
        entries[f"Functional.op.{at}.forward"] = forward([tensor(1.0 + at)], [between])
        entries[f"Functional.back.{at}.forward"] = forward([between], [tensor(3000.0 + at)])
        entries[f"Functional.next.{at}.forward"] = forward(
            [tensor(3000.0 + at)], [tensor(4000.0 + at)]
        )
    return Calls(entries, {})


def silent_parts(count: int, faulty: bool) -> Calls:
    """One call with many outputs, each read behind a call that left no values."""
    parts = [tensor(10.0 + at + (faulty and at > count // 2)) for at in range(count)]
    entries: Json = {"Torch.split.0.forward": forward([tensor(4.0)], parts)}
    for at, part in enumerate(parts):
        entries[f"Tensor.view.{at}.forward"] = _NO_VALUES
        read = {**part, "shape": [4]}
        entries[f"Torch.mul.{at}.forward"] = forward([read], [tensor(1e5 + at)])
    return Calls(entries, {})


def told_parts(count: int, faulty: bool) -> Calls:
    """One call with many outputs, in a dump that says of each who put it out."""
    parts = [tensor(10.0 + at + (faulty and at > count // 2)) for at in range(count)]
    entries: Json = {"Torch.split.0.forward": forward([tensor(4.0)], parts)}
    for at, part in enumerate(parts):
        read = {**part, "source": f"Torch.split.0.forward.output.{at}"}
        entries[f"Torch.mul.{at}.forward"] = forward([read], [tensor(1e5 + at)])
    return Calls(entries, {})


FAMILIES: tuple[Family, ...] = (
    own_values,
    zeros,
    constants,
    equal_gradients,
    followed_constants,
    checksums,
    one_read_by_all,
    one_written_by_all,
    silent,
    many_outputs,
    many_inputs,
    nested,
    siblings,
    ported,
    ported_calls,
    ported_likes,
    parameters,
    renamed,
    shuffled,
    arguments,
    gradients,
    micro_batches,
    tied,
    one_more,
    one_name,
    findings,
    one_cause,
    silent_chain,
    healing,
    silent_parts,
    told_parts,
)
