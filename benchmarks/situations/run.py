"""Runs one situation plain, recorded at each level and task, and plain again."""

from __future__ import annotations

import contextlib
import gc
import hashlib
import io
import json
import math
import random
import shutil
import sys
import time
import traceback
import warnings
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import nn

from benchmarks.situations.followers import BESIDE, Dumper, Follower
from benchmarks.situations.process_state import differences, model_state, process_state
from benchmarks.situations.situation import Situation
from benchmarks.situations.truth import OwnOptimizer, Truth
from builder.dump.reader import read_dump, read_stacks
from msprobe_core.torch.rank import current_rank

SPECS = (
    *((level, task) for task in ("statistics", "tensor") for level in ("L0", "L1", "mix")),
    *((name, "") for name in BESIDE),
)
"""The dumper's levels and tasks, and who follows beside it."""
_A_MOMENT = 1.0  # seconds


@dataclass(slots=True)
class Outcome:
    """What one level and task, or one follower (`level`, no task) did to a situation; empty lists
    are what it should.
    """

    level: str
    task: str
    differs: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    records: int = 0
    without_numbers: int = 0
    examples: list[str] = field(default_factory=list)

    @property
    def is_good(self) -> bool:
        """Whether the recording left no trace and a whole dump."""
        return not (self.differs or self.left or self.broken or self.wrong)


@dataclass(slots=True)
class Run:
    """What came out of a run: a digest of each step, how many tensors lived on, what was left."""

    digests: list[str] = field(default_factory=list)
    alive: list[int] = field(default_factory=list)
    on_model: dict[str, object] = field(default_factory=dict)
    compiled: tuple[int, int] = (0, 0)
    """Graphs and graph breaks."""
    truth: Truth = field(default_factory=Truth)


def run_situation(
    situation: Situation, folder: Path, specs: tuple[tuple[str, str], ...] = SPECS
) -> list[Outcome]:
    """One outcome for each level and task. Raises what the plain step raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain, again = (_run(situation, None, tell=True) for _ in range(2))
        if plain.digests != again.digests:  # the first one imports, which may draw random numbers
            plain, again = again, _run(situation, None, tell=True)
        assert plain.digests == again.digests, "plain runs differ among themselves"
        if again.compiled != (0, 0):  # the truth's own hook on the optimizer breaks graphs, too
            again.compiled = _run(situation, None).compiled
        outcomes = []
        for level, task in specs:
            if not task and situation.alone:
                continue
            if level == "graph mode" and situation.looks_at_itself:
                continue
            outcome = Outcome(level, task)
            outcomes.append(outcome)
            _recorded(situation, again, outcome, folder / f"{level}_{task}")
    return outcomes


def _follower(situation: Situation, outcome: Outcome, folder: Path) -> Follower:
    if outcome.task:
        return Dumper(folder, outcome.level, outcome.task, situation.start)
    return BESIDE[outcome.level](folder)


def _recorded(situation: Situation, plain: Run, outcome: Outcome, folder: Path) -> None:
    said = io.StringIO()
    before = process_state()
    follower: Follower | None = None
    if not situation.followed or current_rank() in situation.followed:
        follower = _follower(situation, outcome, folder)
    try:
        with contextlib.redirect_stderr(said):
            run = _run(situation, follower)
    except BaseException as error:
        outcome.differs.append(_worded(error))
        run = None
    with contextlib.redirect_stderr(said):
        if follower is not None:
            follower.close()
    gc.collect()
    outcome.left += differences(before, process_state())
    if run is not None:
        outcome.differs += _compared(plain, run)
        outcome.left += differences(plain.on_model, run.on_model)
    outcome.broken += [line for line in said.getvalue().splitlines() if "dumping has ended" in line]
    if outcome.task and follower is not None:
        _read(folder, outcome, situation)
    if situation.ranks > 1:
        torch.distributed.barrier()  # what is joined from all ranks is there when all have closed
    if (
        run is not None
        and follower is not None
        and not (situation.own_gradients or outcome.level in situation.uncompared)
    ):
        outcome.wrong += _said_wrong(follower, plain.truth)
    if situation.ranks == 1:
        shutil.rmtree(folder, ignore_errors=True)
    try:
        after = _run(situation, None)
        outcome.left += ["plain runs differ afterwards"] * (after.digests != plain.digests)
    except BaseException as error:
        outcome.left.append(f"afterwards: {_worded(error)}")


def _compared(plain: Run, run: Run) -> list[str]:
    wrong = [f"step {n}" for n, (a, b) in enumerate(zip(plain.digests, run.digests)) if a != b]
    if run.compiled != plain.compiled:
        wrong.append(f"graphs and breaks {run.compiled}, {plain.compiled} alone")
    return wrong + [
        f"step {n}: {b} tensors alive, {a} without a recording"
        for n, (a, b) in enumerate(zip(plain.alive, run.alive, strict=True))
        if b > a
    ]


def _said_wrong(follower: Follower, truth: Truth) -> list[str]:
    try:
        return follower.wrong(truth)
    except Exception as error:
        return [f"not read: {_worded(error)}"]


def _run(situation: Situation, follower: Follower | None, tell: bool = False) -> Run:
    """One run; with `tell` its truth is noted, which all ranks must do or none: shards are gathered
    for it.
    """
    torch.manual_seed(11)
    random.seed(5)
    _forget_compiled_code()
    run = Run()
    model, step, *optimizers = situation.make()
    own = None if optimizers else OwnOptimizer(model)
    followed = optimizers[0] if own is None else own.optimizer
    ends: list[Any] = []
    if own is None and tell:
        ends.append(
            followed.register_step_pre_hook(
                lambda _, args, kwargs: run.truth.take_with(n, model, followed, args, kwargs)
            )
        )
    torch.manual_seed(5)
    n = 0
    if follower is not None:
        follower.begin(model, followed)
    for n in range(situation.steps):
        if follower is not None:
            follower.start(model)
        try:
            result = step(n)
            refs = [weakref.ref(each) for each in _tensors(result)]
            digest = _digest([result, _gradients(model)])
            del result
            # Cycles of the user's own are collected late, with and without a recording.
            run.alive.append(_still_alive(refs))
            if own is not None:
                if tell:
                    run.truth.take(n, model, followed)
                own.step()
        finally:
            if follower is not None:
                follower.stop()
        run.digests.append(digest)
    for end in ends:
        end.remove()
    parameters = list(model.parameters()) if isinstance(model, nn.Module) else []
    states = [torch.get_rng_state(), random.getstate()]
    run.digests.append(_digest([parameters, states]))
    if follower is not None:
        follower.close()
    run.on_model = model_state(model)
    run.compiled = _compiled()
    return run


def _still_alive(refs: list[weakref.ref[torch.Tensor]]) -> int:
    """How many tensors live on; threads of gloo let go of theirs a moment after their sum is there,
    on a busy machine later than the user's next line.
    """
    until = time.monotonic() + _A_MOMENT
    alive = sum(each() is not None for each in refs)
    while alive and torch.distributed.is_initialized() and time.monotonic() < until:
        time.sleep(_A_MOMENT / 10)
        alive = sum(each() is not None for each in refs)
    return alive


def _forget_compiled_code() -> None:
    dynamo: Any = sys.modules.get("torch._dynamo")
    if dynamo is not None:
        dynamo.reset()
        dynamo.utils.counters.clear()


def _compiled() -> tuple[int, int]:
    dynamo: Any = sys.modules.get("torch._dynamo")
    if dynamo is None:
        return 0, 0
    counters = dynamo.utils.counters
    return counters["stats"]["unique_graphs"], sum(counters["graph_break"].values())


def _gradients(model: object) -> list[torch.Tensor]:
    if not isinstance(model, nn.Module):
        return []
    return [each.grad for each in model.parameters() if each.grad is not None]


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _tensors(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _tensors(each)


def _digest(value: Any) -> str:
    found = hashlib.sha256()
    _add(found.update, value)
    return found.hexdigest()[:16]


def _add(update: Callable[[bytes], None], value: Any) -> None:
    if isinstance(value, torch.Tensor):
        with torch.no_grad():
            update(_bytes(_opened(value).detach(), update))
    elif isinstance(value, dict):
        _add(update, list(value.values()))
    elif isinstance(value, (list, tuple)):
        for each in value:
            _add(update, each)
    else:
        update(repr(value).encode())


def _opened(tensor: Any) -> Any:
    """What a wrapper stands for, of a distributed tensor this rank's piece; one of this list is
    not asked, as it may raise.
    """
    if type(tensor) in (torch.Tensor, nn.Parameter) or tensor.is_nested:
        return tensor
    if hasattr(tensor, "to_local"):
        return tensor.to_local()
    inner = getattr(tensor, "inner", None)
    if isinstance(inner, torch.Tensor):  # every tensor has a method of that name
        return inner
    is_backed = type(tensor).dequantize is torch.Tensor.dequantize
    return tensor.as_subclass(torch.Tensor) if is_backed else tensor.dequantize()


def _bytes(tensor: Any, update: Callable[[bytes], None]) -> bytes:
    if tensor.is_nested:
        for part in tensor.unbind():
            update(_bytes(part, update))
        return b"nested"
    if tensor.is_quantized:
        tensor = tensor.int_repr()
    if tensor.layout is not torch.strided:
        tensor = tensor.to_dense()
    head = f"{tensor.dtype}{tuple(tensor.shape)}".encode()
    if tensor.device.type == "meta" or not tensor.numel():
        return head
    whole = tensor.resolve_conj().resolve_neg().contiguous()
    if whole.is_complex():
        whole = torch.view_as_real(whole)
    return head + bytes(whole.reshape(-1).view(torch.uint8).numpy().tobytes())


def _read(folder: Path, outcome: Outcome, situation: Situation) -> None:
    """Read every step as a tool would, and as the builder does."""
    own = "*" if situation.ranks == 1 else f"rank{current_rank()}"
    paths = sorted(folder.glob(f"step*/{own}"))
    if len(paths) < situation.steps:
        outcome.broken.append(f"{len(paths)} of {situation.steps} steps")
    for path in paths:
        try:
            head = json.loads((path / "dump.json").read_text(encoding="utf-8"))
            json.loads((path / "construct.json").read_text(encoding="utf-8"))
            read_dump(path / "dump.json")
            read_stacks(path / "stack.json")
        except Exception as error:
            outcome.broken.append(_worded(error))
            continue
        if "note" in head:
            outcome.broken.append(head["note"])
        for name, entry in head["data"].items():
            _count(entry, name, outcome)
        log = path / "dump_error_info.log"
        if log.exists():
            lines = log.read_text(encoding="utf-8").splitlines()
            said = [
                each for each in lines if not situation.reports or situation.reports not in each
            ]
            outcome.broken += said[:3]


def _count(value: Any, place: str, outcome: Outcome) -> None:
    if isinstance(value, list):
        for n, each in enumerate(value):
            _count(each, f"{place}.{n}", outcome)
    elif isinstance(value, dict) and value.get("type") == "torch.Tensor":
        outcome.records += 1
        has_elements = math.prod(value["shape"]) != 0 and not value.get("unwritten")
        if has_elements and value.get("Max") is None:
            outcome.without_numbers += 1
            outcome.examples = [*outcome.examples, f"{place}: {value['dtype']}"][:3]
    elif isinstance(value, dict):
        for key, each in value.items():
            _count(each, f"{place}.{key}", outcome)


def _worded(error: BaseException) -> str:
    where = traceback.extract_tb(error.__traceback__)
    last = f" at {Path(where[-1].filename).name}:{where[-1].lineno}" if where else ""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:150]}{last}"
