"""Runs a case eager, compiled, and compiled under a recording; compares, and says what differs."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import torch
import torch._functorch.config
import torch._inductor.config
from torch._dynamo.exc import TorchDynamoException
from torch.utils._pytree import tree_leaves, tree_map

from builder import Diagnosis, build, diagnose
from builder.claim import CLOSE, Claim, Counted, Evidence, claim
from builder.compare.score import THRESHOLD
from builder.diagnosis.end_results import MOST, EndResult
from builder.dump.reader import read_dump
from builder.reasons import AttributeDiffers, Reason, decode
from builder.reasons.first_reasons import tells_of_calls
from msprobe.compile_check.bisection import ALL, FirstRecords, Parted, Trial, find_parted
from msprobe.compile_check.blame import Blamed, find_blamed
from msprobe.compile_check.case import Case
from msprobe.compile_check.options import Compilation, Run
from msprobe.compile_check.results import (
    GRADIENT,
    HALF,
    Apart,
    LessExact,
    Results,
    distance,
    less_exact_gradients,
    results_apart,
    results_of,
    rounding,
    state_of,
    unequal,
)
from msprobe.errors import CheckError
from msprobe_core.debugger import PrecisionDebugger

MakeCase = Callable[[], Case]
Prepare = Callable[[torch.nn.Module], Run]
Settings = Callable[[], AbstractContextManager[Any]]
_SEED = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a check.

    `changed` are results that are not bit-equal in the compiled model with and without the
    recording, of as many as `results`; `vanished` those of them that differ from eager only without
    it, and `parted` the records between which the first of them lies, if that could be found.
    `counted` is what the compiler did without and with the recording. `apart` are results of the
    model that was compiled with the user's own settings, caches and all, that differ from eager by
    more than rounding, and that the records have not explained; `ends` counts the losses,
    outermost outputs and gradients that diverge by the records, whatever findings there are, and
    `untold` are calls that pick other elements, of which nothing tells whether that is a tie.
    `blamed` is the part of the compiler that a difference comes from, where it was looked for.
    `same_results` says that no result is apart at all, whatever the records have explained, and
    `rounded` counts the gradients of parameters that are all that diverges by the records, and no
    further from those in float64 than eager's. `other_calls` are those that diverge, if each stands
    beside one of eager's with values of other shapes, `healing` those of findings that heal, of
    which both dumps say how they are called. `less_exact` are the gradients of parameters that are
    much further from those in float64 than eager's, where gradients are all that diverges.
    """

    diagnosis: Diagnosis
    database: Path
    results: int
    changed: list[str]
    vanished: list[Vanished]
    counted: dict[str, tuple[int, int]]
    parted: Parted | None = None
    apart: tuple[Apart, ...] = ()
    ends: int = 0
    untold: tuple[str, ...] = ()
    blamed: Blamed | None = None
    same_results: bool = False
    rounded: int = 0
    other_calls: tuple[str, ...] = ()
    healing: tuple[str, ...] = ()
    less_exact: tuple[LessExact, ...] = ()

    @property
    def goes_another_way(self) -> bool:
        """Whether the two make other calls alone, and every result is the same.

        Libraries ask whether they are compiled, and call otherwise then. What is called, and the
        shapes of that, are what dynamo has traced, whatever a compiler makes of it.
        """
        named = self.diagnosis.named
        in_doubt = self.vanished or self.untold or not self.same_results
        ways = (finding.node in (*self.other_calls, *self.healing) for finding in named)
        return bool(named or self.other_calls) and not in_doubt and all(ways)

    @property
    def only_less_exact(self) -> tuple[LessExact, ...]:
        """What is further from float64 than eager's, where that is all that differs."""
        others = self.vanished or self.untold or (self.apart and self.diagnosis.named)
        of_apart = tuple(each.less_exact for each in self.apart if each.less_exact is not None)
        if others or len(of_apart) < len(self.apart):
            return ()
        return self.less_exact + of_apart

    @property
    def claim(self) -> Claim:
        """What may be said: of all that was recorded, and of the results where nothing was."""
        apart = Counted("apart", len(self.apart), self.apart[0].name if self.apart else "")
        vanished = Counted("vanished", len(self.vanished))
        evidence = self.diagnosis.claim.evidence
        if self.rounded:
            evidence = _with_close_ends(evidence, self.rounded)
        evidence = evidence.with_differences(apart, vanished)
        found = 0 if self.rounded else len(self.diagnosis.named) or int(self.goes_another_way)
        return claim(evidence, found, heals=self.goes_another_way)

    @property
    def agrees(self) -> bool:
        """Whether nothing differs by more than compilers round, of what could be compared.

        Ends are told by the records, of calls that may be of one run alone: where the two go
        another way, all results themselves were compared.
        """
        return self.goes_another_way or (
            self.claim.code in ("equal", "rounding", "close") and not self.ends
        )


@dataclass(frozen=True, slots=True)
class Vanished:
    """A result whose distance from eager vanishes under observation: both relative to its norm."""

    name: str
    alone: float
    recorded: float


@dataclass(frozen=True, slots=True)
class _Ran:
    """The results of one run by name: outputs, gradients and what it wrote in place; and what the
    compiler counted.

    `is_anew` says that no graph came from a cache: it did what it does without caches.
    """

    results: dict[str, torch.Tensor]
    counts: dict[str, int]
    modules: int
    is_anew: bool


def check_compilation(
    make: MakeCase,
    folder: Path,
    backend: str | Run = "inductor",
    level: str = "mix",
    fullgraph: bool = False,
    options: Compilation | None = None,
    bisect: bool = False,
) -> Answer:
    """Compare the compiled model with the eager one and leave dumps and result below a folder.

    Each run makes its case anew, from the same seed. `options` stand in place of `backend` and
    `fullgraph`; with `bisect` the part of the compiler that a difference comes from is looked for.
    Raises CheckError when two eager runs differ, as nothing could be told then, and where torch
    cannot compile the model; and what the model raises.
    """
    options = options or Compilation(backend, fullgraph)
    compiled = options.compiled
    _refuse_chance(make)
    own = _of_torch(lambda: _run(make, compiled, settings=_own_settings(make)))
    _refuse_nothing(own)
    plain = own if own.is_anew else _run(make, compiled)
    recorded = _recorded(make, folder / "compiled", level, compiled)
    eager = _recorded(make, folder / "eager", level, _as_it_is, _in_eager)
    changed = unequal(plain.results, recorded.results)
    built = build(folder / "compiled", folder / "eager", folder)
    names = sorted({*plain.counts, *recorded.counts})
    vanished = list(_vanished(changed, plain, recorded, eager))
    exact = _exact(make, eager.results)
    apart = results_apart(own.results, recorded.results, eager.results, own.modules, exact)
    diagnosis = diagnose(built.path)
    ends = [e for o in built.outcomes for e in o.ends.worst if e.score > THRESHOLD]
    divergent = _divergent(built.path)
    is_wide = not any(result.dtype in HALF for result in eager.results.values())
    rounded = 0
    less_exact: list[LessExact] = []
    if not apart and _are_gradients_alone(diagnosis, divergent, ends, is_wide):
        asked = _parameters(eager.results) if diagnosis.named else map(_parameter, ends)
        true = exact or _in_float64(make)
        results = own.results, eager.results
        if true is not None:
            found = less_exact_gradients(asked, *results, true, own.modules)
            less_exact, rounded = found or [], len(ends) if found == [] else 0
    blamed = _blamed(make, options, eager.results, exact) if bisect and apart else None
    parted = None
    if vanished:
        check = _Bisection(make, folder / "bisected", options, level)
        parted = check.between(vanished[0].name, eager)
    return Answer(
        diagnosis,
        built.path,
        len(plain.results),
        changed,
        vanished,
        {name: (plain.counts.get(name, 0), recorded.counts.get(name, 0)) for name in names},
        parted,
        tuple(each for each in apart if not each.is_judged),
        0 if rounded else len(ends),
        tuple(name for outcome in built.outcomes for name in outcome.untold),
        blamed,
        same_results=not apart,
        rounded=rounded,
        other_calls=_of_other_shapes(divergent),
        less_exact=tuple(less_exact),
        healing=tuple(f.name for f in built.findings if f.heals and tells_of_calls(f.reasons)),
    )


def _divergent(database: Path) -> dict[str, list[Reason]]:
    """What diverges, by name, and why."""
    with closing(sqlite3.connect(database)) as connection:
        found = connection.execute(_DIVERGENT, (THRESHOLD,)).fetchall()
    return {name: decode(reasons) for name, reasons in found}


def _of_other_shapes(divergent: Mapping[str, Sequence[Reason]]) -> tuple[str, ...]:
    """The calls that diverge, if all of them have values of other shapes than eager's: they are
    beside one another by their numbers alone.
    """
    for reasons in divergent.values():
        if not any(isinstance(r, AttributeDiffers) and r.attribute == "shape" for r in reasons):
            return ()
    return tuple(divergent)


_DIVERGENT = """
    SELECT node.name, node.reasons FROM node JOIN graph ON graph.id = node.graph
    WHERE graph.side = 'problem' AND node.score > ? ORDER BY node.exec_order
"""


def _are_gradients_alone(
    diagnosis: Diagnosis, divergent: Iterable[str], ends: Sequence[EndResult], is_wide: bool
) -> bool:
    """Whether gradients of parameters are all that diverges, and no finding says where from.

    In a wide format a finding may name a call of the backward pass: no fault that shows is as small
    as three of its roundings in every gradient. In a half format one is.
    """
    found = diagnosis.claim.evidence.differences
    others = [each.code for each in found if each.code not in ("ends", "divergent", *CLOSE)]
    if others or not 0 < len(ends) < MOST:
        return False
    if not all(is_wide and finding.direction == "backward" for finding in diagnosis.named):
        return False
    return all(end.role == "gradient" for end in ends) and {e.name for e in ends}.issuperset(
        divergent
    )


def _parameters(results: Results) -> list[str]:
    """The names of all that have a gradient."""
    return [name.removeprefix(GRADIENT) for name in results if name.startswith(GRADIENT)]


def _parameter(end: EndResult) -> str:
    """The name of a parameter whose gradient an end is: that of its module, and its own."""
    return ".".join([*end.name.split(".")[1:-3], end.value.partition(".")[2]])


def _with_close_ends(evidence: Evidence, count: int) -> Evidence:
    """The evidence, of which ends that diverge are no difference but rounding."""
    first = next(each.name for each in evidence.differences if each.code == "ends")
    kept = (each for each in evidence.differences if each.code not in ("ends", "divergent"))
    close = Counted("ends_close", count, first)
    return msgspec.structs.replace(evidence, differences=(*kept, close))


@dataclass(frozen=True, slots=True)
class _Bisection:
    """Runs of the compiled model with some of its records, to find the two that part a fault."""

    make: MakeCase
    folder: Path
    options: Compilation
    level: str

    def between(self, result: str, eager: _Ran) -> Parted | None:
        """The two records between which the difference of a result from eager lies."""
        counted = FirstRecords(self.options.backend, ALL)
        self._recorded(counted, "all")

        def tried(limit: int) -> Trial:
            ran = self._recorded(FirstRecords(self.options.backend, limit), str(limit))
            wanted = eager.results[result]
            apart = distance(ran.results[result], wanted)
            values = _recorded_values(self.folder / str(limit))
            return Trial(apart > rounding(wanted, ran.modules), values)

        return find_parted(tried, counted.seen)

    def _recorded(self, backend: FirstRecords, name: str) -> _Ran:
        compiled = self.options.by(backend).compiled
        return _recorded(self.make, self.folder / name, self.level, compiled)


def _recorded_values(dump: Path) -> frozenset[str]:
    """The names of the forward values of a dump that have numbers."""
    (folder,) = (file.parent for file in dump.rglob("dump.json"))
    read = read_dump(folder)
    return frozenset(
        f"{name}.{read.values.keys[at]}"
        for name, (start, end) in read.ranges.items()
        if ".forward" in name
        for at in range(start, end)
        if read.values.records[at].Max is not None
    )


def _of_torch(run: Callable[[], _Ran]) -> _Ran:
    """What a run without any recording comes to: what torch says of it is torch's own failure."""
    try:
        return run()
    except TorchDynamoException as error:
        # The first line is the kind of failure, the second one what it is about.
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        said = " ".join(lines[:2]) or type(error).__name__
        raise CheckError(
            f"torch.compile fails on this model, without any recording: {said}",
            "that is torch's own failure, and no difference; --backend aot_eager leaves inductor "
            "out, and without --fullgraph the graph may break",
        ) from error


def _blamed(
    make: MakeCase, options: Compilation, eager: Results, exact: Results | None
) -> Blamed | None:
    """The part of the compiler without which its results are eager's."""

    def agrees() -> bool:
        ran = _run(make, options.compiled)
        return not results_apart(ran.results, {}, eager, ran.modules, exact)

    return find_blamed(agrees)


def _refuse_chance(make: MakeCase) -> None:
    one, other = (_run_eager(make).results for _ in range(2))
    differing = unequal(one, other)
    if differing:
        raise CheckError(
            f"two eager runs from one seed differ in {differing[0]}",
            "take chance out of the function (other seeds, threads, unset arguments), and make "
            "the model and what it writes in there",
        )


def _refuse_nothing(own: _Ran) -> None:
    if not own.counts["graphs"]:
        raise CheckError(
            "torch.compile made no graph of this model, so eager would be compared with itself",
            "see whether compiling is switched off (TORCHDYNAMO_DISABLE, torch.compiler.disable), "
            "and with --fullgraph what breaks the graph",
        )


def _recorded(
    make: MakeCase,
    folder: Path,
    level: str,
    prepare: Prepare,
    settings: Settings | None = None,
) -> _Ran:
    folder.mkdir(parents=True, exist_ok=True)
    config = folder.with_suffix(".json")
    recording = {"capture": "graph", "level": level, "dump_path": str(folder.absolute())}
    config.write_text(json.dumps(recording), encoding="utf-8")
    debugger = PrecisionDebugger(config)
    try:
        return _run(make, prepare, debugger, settings)
    finally:
        debugger.close()


def _run(
    make: MakeCase,
    prepare: Prepare,
    debugger: PrecisionDebugger | None = None,
    settings: Settings | None = None,
    seed: int = _SEED,
) -> _Ran:
    """One run; by the user's `settings` or, without any, by none of the compiler's caches.

    `seed` is that of the call; that of the case is always the same.
    """
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    torch.manual_seed(_SEED)
    case = make()
    case.model.zero_grad()
    before = state_of(case)
    run = prepare(case.model)
    if debugger is not None:
        debugger.start(model=case.model)
    torch.manual_seed(seed)
    with (settings or _without_caches)():
        result = run(*case.args, **case.kwargs)
        own = own_loss(result)
        if debugger is not None and own is None:
            debugger.stop()  # what the check itself computes is no call of the model's
        loss = derived_loss(result) if own is None else own
        if loss is not None:
            loss.backward()
    if debugger is not None:
        debugger.stop()
        debugger.step()
    modules = sum(1 for _ in case.model.modules())
    results = dict(results_of(case, result, own, before))
    return _Ran(results, _counts(), modules, _is_anew())


def _run_eager(make: MakeCase, seed: int = _SEED) -> _Ran:
    return _run(make, _as_it_is, settings=_in_eager, seed=seed)


def _as_it_is(model: torch.nn.Module) -> Run:
    return model


def _in_eager() -> AbstractContextManager[Any]:
    """Nothing is compiled, the model that was made or parts of it neither."""
    stance: AbstractContextManager[Any] = torch.compiler.set_stance("force_eager")
    return stance


def _own_settings(make: MakeCase) -> Settings:
    """The user's own settings, caches and all: a fault may live in what a cache holds.

    Where the model draws random numbers it has to draw those of eager, or all would differ. That is
    a setting that caches know, so where it draws none it stays as it is.
    """
    one, other = (_run_eager(make, seed).results for seed in (_SEED, _SEED + 1))
    if unequal(one, other):
        return lambda: torch._inductor.config.patch(fallback_random=True)
    return nullcontext


def _exact(make: MakeCase, eager: Results) -> Results | None:
    """The results of the eager model in float64; None where it has no half format, or goes on to
    compute in one (autocast, casts of its own) or cannot be run so.
    """
    if not any(result.dtype in HALF for result in eager.values()):
        return None
    return _in_float64(make)


def _in_float64(make: MakeCase) -> Results | None:
    try:
        exact = _run_eager(lambda: _widened(make())).results
    except Exception:  # a model that float64 does not suit
        return None
    return None if any(result.dtype in HALF for result in exact.values()) else exact


def _widened(case: Case) -> Case:
    def wide(value: Any) -> Any:  # noqa: ANN401 - whatever a model takes
        is_real = isinstance(value, torch.Tensor) and value.is_floating_point()
        return value.detach().double() if is_real else value

    args, kwargs = tree_map(wide, (case.args, case.kwargs))
    return Case(case.model.double(), args, kwargs)


@contextmanager
def _without_caches() -> Iterator[None]:
    """What the compiler takes from its caches it does not do, and does not count; and it draws the
    random numbers that eager draws.
    """
    with (
        torch._inductor.config.patch(fx_graph_cache=False, fallback_random=True),
        torch._functorch.config.patch(enable_autograd_cache=False),
    ):
        yield


def own_loss(result: object) -> torch.Tensor | None:
    """What a model calls its loss."""
    own = result.get("loss") if isinstance(result, dict) else None
    return own if isinstance(own, torch.Tensor) and own.requires_grad else None


def derived_loss(result: object) -> torch.Tensor | None:
    """The mean of all that a result has, with fixed weights. It is computed here and not by what
    was compiled: to compare it says no more than to compare what it is made of.

    Without weights, or with squares, hardly any gradient would pass a norm at the model's end: what
    is left of it is rounding, and differs.
    """
    parts = [
        (
            each.float() * torch.arange(each.numel(), device=each.device).cos().view(each.shape)
        ).mean()
        for each in tree_leaves(result)
        if isinstance(each, torch.Tensor) and each.requires_grad
    ]
    return torch.stack(parts).sum() if parts else None


def _vanished(changed: list[str], plain: _Ran, recorded: _Ran, eager: _Ran) -> Iterator[Vanished]:
    """Results that are further from eager than rounding takes them, but not while recorded.

    A compiler may keep a wider format inside a kernel, so each module may round once more or once
    less: as many machine epsilons as there are modules are no difference.
    """
    for name in changed:
        if any(name not in ran.results for ran in (plain, recorded, eager)):
            continue
        wanted = eager.results[name]
        if not wanted.is_floating_point():
            continue
        alone, seen = (distance(ran.results[name], wanted) for ran in (plain, recorded))
        if alone > rounding(wanted, plain.modules) >= seen:
            yield Vanished(name, alone, seen)


def _counts() -> dict[str, int]:
    """How often inductor's patterns matched, and how many graphs there are."""
    counters = torch._dynamo.utils.counters
    return {
        "pattern matches": int(counters["inductor"]["pattern_matcher_count"]),
        "graphs": int(counters["stats"]["unique_graphs"]),
    }


def _is_anew() -> bool:
    """Whether inductor is known to have made each graph itself, and taken none from a cache: it
    counts what it finds there. Of other compilers nothing is known.
    """
    inductor, above = (torch._dynamo.utils.counters[name] for name in ("inductor", "aot_autograd"))
    made = inductor["fxgraph_cache_miss"] + inductor["fxgraph_cache_bypass"]
    return made > 0 and not inductor["fxgraph_cache_hit"] and not above["autograd_cache_hit"]
