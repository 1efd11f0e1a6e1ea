"""Files that were damaged or made to do harm: each must end in an answer or one clear line."""

from __future__ import annotations

import os
import pickle
import random
import signal
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from types import FrameType

import builder
from benchmarks.generate import Size, generate
from benchmarks.soak.outcome import Outcome, tensor_record, write_dump
from builder.dump.tensor_files import TensorFileError, open_tensor
from builder.errors import BuilderError
from builder.match.layer_file import read_layer_mapping
from builder.match.manual_file import read_mapping
from builder.match.nodes import MatchRules
from builder.work.options import BuildOptions
from builder.work.pair import Instructions, work_on
from builder.work.plan import PairPlan

_LONGEST_SECONDS = 30.0
_CLEAR = (BuilderError, TensorFileError)
_SPLICES = (
    b"NaN", b"null", b"[]", b"{}", b'"', b"\\", b"}", b"]", b",", b"1e999", b"-1", b"\x00",
    b"\xff\xfe", b"[" * 5000, b'{"a":' * 3000, b'"type": 3', b'"shape": [1e9, -4]', b"9" * 400,
    b'"dtype": "torch.float0"', b'"../../../../etc/passwd"', b"true",
)  # fmt: skip


class TooSlowError(Exception):
    """A trial that took longer than anything may."""


def damage(base: bytes, chance: random.Random) -> bytes:
    """One to three random edits."""
    data = bytearray(base)
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(data) + 1)
        end = min(len(data), at + chance.randint(0, 60))
        match chance.randrange(5):
            case 0:
                del data[at:]
            case 1:
                del data[at:end]
            case 2:
                data[at:end] = chance.choice(_SPLICES)
            case 3:
                data[at:at] = data[at:end]
            case _:
                data[at:end] = chance.randbytes(end - at)
    return bytes(data)


def attempt(outcome: Outcome, label: str, call: Callable[[], object]) -> None:
    """Run one trial: it ends in time, with a result or one clear line."""
    began = time.perf_counter()
    try:
        with _limited_time():
            call()
    except _CLEAR as error:
        text = str(error)
        outcome.check(text and "\n" not in text.strip(), f"{label}: not one line: {text!r}")
    except Exception as error:  # anything else is what the trial is after
        outcome.check(False, f"{label}: {type(error).__name__}: {error}")
    else:
        outcome.check(True, "")
    longest = max(float(outcome.seen.split()[1]) if outcome.seen else 0.0, 0.0)
    spent = max(longest, time.perf_counter() - began)
    outcome.seen = f"longest {spent:.2f} s"


def dump_files(work: Path, trials: int) -> list[Outcome]:
    """dump.json, construct.json and stack.json, damaged at random, against a sound dump."""
    generate(work / "dump", Size(100))
    problem, benchmark = (work / "dump" / s / "step0" / "rank0" for s in ("problem", "benchmark"))
    outcomes = []
    for name in ("dump.json", "construct.json", "stack.json"):
        outcome, chance = Outcome(f"damaged {name}"), random.Random(name)
        sound = (problem / name).read_bytes()
        for number in range(trials):
            (problem / name).write_bytes(damage(sound, chance))
            attempt(outcome, f"{name} {number}", lambda: compare(problem, benchmark))
        (problem / name).write_bytes(sound)
        outcomes.append(outcome)
    return outcomes


def structures(work: Path, trials: int, deep: int = 100_000) -> Outcome:
    """construct.json with cycles, missing parents, wrong types, and a chain of `deep` modules."""
    outcome = Outcome(f"construct.json: cycles, missing parents, {deep:,} deep")
    chance = random.Random(5)
    names = [f"Module.m{n}.M.forward.0" for n in range(30)]
    data: dict[str, object] = {
        name: {"input_args": [tensor_record()], "input_kwargs": {}, "output": [tensor_record()]}
        for name in names
    }
    odd = [None, "Module.nowhere.N.forward.0", "", "not a name", 3, [], ["x", 1, 2], [None, 0]]
    for number in range(trials):
        parents = {n: chance.choice([*names, *odd]) for n in chance.sample(names, 25)}
        rank = write_dump(work / "random", data, parents)
        attempt(outcome, f"structure {number}", partial(compare, rank, rank))
    chain = [f"Module.c{n}.C.forward.0" for n in range(deep)]
    for label, last in (("chain", None), ("cycle", chain[0])):
        parents = {child: parent for parent, child in pairwise(chain)} | {chain[0]: last}
        if last is not None:
            parents[chain[0]] = chain[-1]
        folder = work / label
        write_dump(folder, {chain[-1]: data[names[0]]}, dict(parents))
        attempt(outcome, f"{label} of {deep:,}", partial(_whole_build, folder))
    return outcome


def mappings(work: Path, trials: int) -> list[Outcome]:
    """Layer mappings (YAML) and manual mappings (JSON): damaged, bombs, code."""
    canary = work / "executed"
    layers = b"TopLayer:\n  blocks: layers\nBlock:\n  ffn: mlp\n  a.b.c: d.e\n"
    bombs = [
        f'!!python/object/apply:os.system ["touch {canary}"]'.encode(),
        b"a: &a [x,x,x,x,x,x,x,x,x]\n"
        + b"".join(
            b"%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c]\n" % ((n, n) + (n - 1,) * 6) for n in range(98, 122)
        ),
        b"? [1, 2]\n: {}\n",
        b"A: {b: {c: d}}\n",
        b"- 1\n- 2\n",
        b"&x A: *x\n",
        b"A: " + b"{a: " * 5000,
    ]
    yaml = Outcome("layer mapping (YAML)")
    _trials(yaml, work / "rules.yaml", layers, bombs, trials, read_layer_mapping)
    pairs = b'{"version": 1, "pairs": [{"problem": "Module.a", "benchmark": "Module.b"}]}'
    manual = Outcome("manual mapping (JSON)")
    _trials(manual, work / "pairs.json", pairs, [b"[" * 100_000, b"{}"], trials, read_mapping)
    yaml.check(not canary.exists(), "a mapping ran a command")
    return [yaml, manual]


def tensors(work: Path, trials: int) -> Outcome:
    """`.pt` files: damaged, pickles that would run code, shapes that do not fit."""
    import torch

    outcome = Outcome("tensor files (.pt)")
    canary, file = work / "executed", work / "x.pt"
    torch.save(torch.arange(64.0).reshape(8, 8), file)
    sound = file.read_bytes()
    bombs = [pickle.dumps(Bomb(canary), protocol) for protocol in (0, 2, 4)]
    for content in (Bomb(canary), [torch.ones(2), Bomb(canary)], {"a": Bomb(canary)}):
        torch.save(content, file)
        bombs.append(file.read_bytes())
    for odd in (torch.ones(2).to_sparse(), torch.ones(2, device="meta"), _quantized()):
        torch.save(odd, file)
        bombs.append(file.read_bytes())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns of what it reads; here that is on purpose
        _trials(outcome, file, sound, bombs, trials, _read_tensor)
    outcome.check(not canary.exists(), "a tensor file ran a command")
    return outcome


def _quantized() -> object:
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.quantize_per_tensor(torch.ones(4), 0.1, 0, torch.quint8)


def compare(problem: Path, benchmark: Path) -> object:
    """All work on one pair, in this process."""
    plan = PairPlan(0, 0, problem, benchmark)
    return work_on(plan, Instructions(BuildOptions(overflow_check=True), MatchRules()), _ignore)


def _ignore(*_: object) -> None:
    return


def _whole_build(folder: Path) -> None:
    result = builder.build(folder, None, folder / "out")
    if result.failed:
        text = result.failed[0].error or ""
        if "please report" in text:
            raise ValueError(text)
    with_nodes = builder.open(str(result.path))
    with_nodes.close()


def _trials(
    outcome: Outcome,
    file: Path,
    sound: bytes,
    bombs: list[bytes],
    trials: int,
    read: Callable[[Path], object],
) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    chance = random.Random(file.name)
    for number in range(trials + len(bombs)):
        content = bombs[number] if number < len(bombs) else damage(sound, chance)
        file.write_bytes(content)
        attempt(outcome, f"{file.name} {number} ({content[:30]!r})", lambda: read(file))


def _read_tensor(file: Path) -> None:
    with open_tensor(file) as data:
        data.block(0, data.size)


class Bomb:
    """Would leave a file behind when unpickled."""

    def __init__(self, canary: Path) -> None:
        self._canary = canary

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, (f"touch {self._canary}",)


@contextmanager
def _limited_time() -> Iterator[None]:
    def stop(_number: int, _frame: FrameType | None) -> None:
        raise TooSlowError(f"more than {_LONGEST_SECONDS:.0f} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, _LONGEST_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
