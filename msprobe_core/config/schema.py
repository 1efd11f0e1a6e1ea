"""Every field of the configuration file: its type, default, allowed values and meaning.

The reader checks against this table and `docs/configuration.md` is generated from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from msprobe_core.format.frameworks import framework_of_static_graphs

Kind = Literal["choice", "choices", "bool", "int", "path", "text", "names", "numbers", "slices"]

COMMON = ""
EXCEPTION_DUMP = "exception_dump"
_STATIC_GRAPHS = framework_of_static_graphs()
VALUE_TASKS = ("statistics", "tensor", "structure", "overflow_check")


@dataclass(frozen=True, slots=True)
class Field:
    """One setting. `sections` names the task sections it may stand in; `""` is the top level."""

    name: str
    kind: Kind
    default: str
    meaning: str
    choices: tuple[str, ...] = ()
    sections: tuple[str, ...] = (COMMON,)


FIELDS = (
    Field(
        "task",
        "choice",
        '"statistics"',
        "What is recorded of each value: `statistics` (Max, Min, Mean, Norm), `tensor` (those and "
        "the values themselves), `structure` (names and stacks only), `overflow_check` "
        "(statistics of those entries that hold NaN, Inf or the largest number of their type). "
        "`exception_dump` is for level L2.",
        choices=(*VALUE_TASKS, EXCEPTION_DUMP),
    ),
    Field("dump_path", "path", '"./msprobe_dump"', "The folder that receives `step<N>/rank<ID>`."),
    Field(
        "rank",
        "numbers",
        "[]",
        'Ranks to record; numbers and ranges such as `"4-6"`; empty means all.',
    ),
    Field(
        "step",
        "numbers",
        "[]",
        'Steps to record, counted from 0; numbers and ranges such as `"4-6"`; empty means all.',
    ),
    Field(
        "level",
        "choice",
        '"L1"',
        "`L0` records modules, `L1` API calls, `mix` both. `debug` records only what is given to "
        "`debugger.save`, into debug.json. `L2` records what `list` names as `mix` does, and "
        "below each call [the kernels that it runs](formats.md#the-dump), in "
        f"{_STATIC_GRAPHS.display} [those of a static graph](howto/{_STATIC_GRAPHS.name}.md).",
        choices=("L0", "L1", "mix", "debug", "L2"),
    ),
    Field(
        "capture",
        "choice",
        '"eager"',
        "`eager` records around compiled code: what `torch.compile` has compiled is one call. "
        "`graph` records [inside compiled graphs](howto/graph-mode.md) too.",
        choices=("eager", "graph"),
    ),
    Field(
        "graph_points",
        "choice",
        '"late"',
        "Of `capture` graph with inductor: `late` records after all of its passes, so that none "
        "of them is changed; `hooks` records in the traced code, as for other backends.",
        choices=("late", "hooks"),
    ),
    Field(
        "grad_inputs",
        "bool",
        "false",
        "Whether `capture` graph records the gradients of modules' inputs. It changes the order in "
        "which gradients are added up, as each module gets a view of each input.",
    ),
    Field(
        "async_dump",
        "bool",
        "false",
        "Read values from the device and write them after the step has ended. Task `tensor` then "
        "needs `list`, which names what to keep. Not with `summary_mode` md5 or xor.",
    ),
    Field(
        "dump_enable",
        "bool",
        "not set",
        "When set, the file is read again at every `start`: `true` records, `false` does not, and "
        "changes of the other fields take effect with it.",
    ),
    Field("extra_info", "bool", "true", "Whether `stack.json` and `construct.json` are written."),
    Field(
        "flow",
        "bool",
        "true",
        "Whether the record of an input says which recorded output it is (`source`).",
    ),
    Field(
        "precision",
        "choice",
        '"low"',
        "`low` writes only the digits of a sum that do not depend on its order, and sums in "
        "float32 on a device without Triton. `high` writes all digits and sums in float64.",
        choices=("low", "high"),
    ),
    Field(
        "sketch",
        "bool",
        "true",
        "Whether each tensor gets a [sketch](formats.md#the-sketch): 64 digits that show how far "
        "apart the elements of two tensors are, even if their statistics are equal.",
    ),
    Field(
        "rows",
        "bool",
        "false",
        "Whether inputs and outputs of modules are also recorded row by row, to compare runs of "
        "the same tokens in other batches or passes: 43 characters a token and value, up to 8,192 "
        "tokens. Levels L0 and mix, PyTorch; not needed with task `tensor`.",
    ),
    Field(
        "risk_level",
        "choice",
        '"FOCUS"',
        "Which API calls get values: `CORE` (reductions, matrix products, convolutions, "
        "communication, …), `FOCUS` (all but those that only move or create data), `ALL` "
        "(everything, also indexing and custom operators). Levels L1 and mix.",
        choices=("ALL", "CORE", "FOCUS"),
    ),
    Field(
        "custom_op_namespaces",
        "names",
        '["_C_ascend"]',
        "Namespaces of `torch.ops` whose operators are recorded as `<namespace>.<operator>`; "
        "those of torch_npu are always recorded, as `NPU.<operator>`. "
        "Levels L1 and mix; at risk level ALL those of all other namespaces too, as `Aten`.",
    ),
    Field(
        "scope",
        "names",
        "[]",
        "Two full entry names: only what runs from the first to the second, both included.",
        sections=VALUE_TASKS,
    ),
    Field(
        "list",
        "names",
        "[]",
        "Full names or parts of names: only entries whose name contains one of them; at level mix "
        f"a module that matches brings everything that runs inside it. In {_STATIC_GRAPHS.display} "
        "at level L2 kernels by name, by kind, or as `name-regex(…)`.",
        sections=VALUE_TASKS,
    ),
    Field(
        "tensor_list",
        "names",
        "[]",
        "As `list`, but selects the entries whose values are also saved as tensors.",
        sections=("statistics",),
    ),
    Field(
        "data_mode",
        "choices",
        '["all"]',
        "Which parts are kept: `all`, or any of `forward`, `backward`, `input`, `output`.",
        choices=("all", "forward", "backward", "input", "output"),
        sections=VALUE_TASKS,
    ),
    Field(
        "summary_mode",
        "choice",
        '"statistics"',
        "`statistics`; `md5` adds the CRC-32 of each tensor's bytes; `xor` writes only the XOR of "
        "its 64-bit words as msprobe writes it, and no statistics.",
        choices=("statistics", "md5", "xor"),
        sections=("statistics", "tensor"),
    ),
    Field(
        "slice",
        "slices",
        "[]",
        "Parts of tensors to record in place of the whole, as a list of "
        '`{"dim": 0, "size": 6, "begin": 1, "end": 3}`: tensors whose dimension `dim` has `size` '
        "elements are recorded from `begin` up to before `end`. Without `size` every tensor that "
        "has the dimension, without `begin` or `end` from the first or to the last element.",
        sections=("statistics", "tensor"),
    ),
    Field(
        "request_id",
        "text",
        "not set",
        "The request of an inference engine whose tokens alone are recorded, in the steps that "
        "work on it: `start(scheduled_tokens={…})` says how many tokens each request has, in "
        "their order along the first dimension.",
        sections=("statistics", "tensor"),
    ),
    Field(
        "bench_path",
        "path",
        "not set",
        "An earlier dump written with `summary_mode` md5: only tensors of entries whose checksums "
        "differ from it are saved. Needs `summary_mode` md5.",
        sections=("tensor",),
    ),
    Field(
        "diff_nums",
        "int",
        "1",
        "After how many differing entries the comparison with `bench_path` ends; -1 means never.",
        sections=("tensor",),
    ),
    Field(
        "file_format",
        "choice",
        "not set",
        f"Format of kernel dumps at level L2; {_STATIC_GRAPHS.display} writes npy, and nothing "
        "else is taken.",
        choices=("npy", "bin"),
        sections=("tensor",),
    ),
)

LOAD_FIELDS = (
    Field("path", "path", "required", "The dump folder (task tensor) whose inputs are loaded."),
    Field(
        "modules",
        "names",
        "required",
        "Attribute paths of the modules that run on the loaded inputs, such as `layers.3.mlp`.",
    ),
    Field("step", "int", "the current step", "The step of that dump to read from."),
    Field("rank", "int", "the current rank", "The rank of that dump to read from."),
    Field(
        "dump_after_load",
        "bool",
        "false",
        "Record only the calls of those modules and what runs inside them.",
    ),
)

GRAFT_FIELDS = (
    Field("path", "path", "required", "The dump folder (task tensor) whose values are taken."),
    Field("take", "names", "required", "A list of objects: what is taken, and where it goes."),
    Field("step", "int", "the current step", "The step of that dump to read from."),
    Field("rank", "int", "the current rank", "The rank of that dump to read from."),
)
TAKE_FIELDS = (
    Field("at", "path", "required", "The entry of this run, such as `Torch.matmul.4.forward`."),
    Field(
        "what",
        "choice",
        '"output"',
        "`output`: what the entry puts out (of a backward entry: the gradients that it hands on; "
        "of `parameters_grad`: those gradients); `input`: its inputs, numbers too; `parameters`: "
        "those of the module; `through`: nothing is taken, the call hands its first input on.",
        choices=("output", "input", "parameters", "through"),
    ),
    Field("from", "path", "the same name", "The entry of the other dump."),
)

FOREIGN_SECTIONS = ("acc_check", "run_ut", "grad_probe", "free_benchmark", "exception_dump")
"""Sections of tasks that other tools perform; they may stand in a shared file and are not read."""


def field(name: str) -> Field:
    """The field of that name; the name must be in the table."""
    return next(entry for entry in FIELDS if entry.name == name)
