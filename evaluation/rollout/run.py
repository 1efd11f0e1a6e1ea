"""Records one pair: `python -m evaluation.rollout.run FOLDER PAIR RUN [RUN …]`.

A run is `trainer`, `sound` or the name of a fault of the engine; each has a process of its own.
"""

from __future__ import annotations

import json
import multiprocessing
import sys
from pathlib import Path

import torch
import torch.nn.functional as F

from evaluation.rollout import engine, generating, later, mixture, mixture_engine, trainer
from evaluation.rollout.pairs import RolloutPair, sequences
from evaluation.rollout.suite import every_pair
from msprobe.pytorch import PrecisionDebugger

TRAINER, SOUND = "trainer", "sound"


def _debugger(folder: Path, pair: RolloutPair) -> PrecisionDebugger:
    folder.mkdir(parents=True)
    config = folder.with_name(f"{folder.name}.json")
    rows = pair.task == "statistics"
    told = {"task": pair.task, "dump_path": str(folder), "level": "mix", "rows": rows}
    config.write_text(json.dumps(told))
    return PrecisionDebugger(config_path=str(config))


Trainer = trainer.CausalLM | later.MegatronGPT | mixture.MixtureModel


def train(folder: Path, pair: RolloutPair, model: Trainer) -> None:
    """One step over all sequences: forward and backward."""
    tokens = sequences(_vocabulary(pair))
    batch = (
        trainer.packed(tokens)
        if pair.layout == "packed"
        else trainer.padded(tokens, left=pair.layout == "left")
    )
    debugger = _debugger(folder, pair)
    debugger.start(model=model)
    logits = model(batch, pair.layout == "sequence first")
    F.log_softmax(logits.float(), -1).mean().backward()
    debugger.stop()
    debugger.step()


def _vocabulary(pair: RolloutPair) -> int:
    if pair.of_mixture:
        return mixture.VOCABULARY
    return later.VOCABULARY if pair.lines else trainer.VOCABULARY


@torch.no_grad()
def serve_mixture(folder: Path, pair: RolloutPair, model: mixture_engine.MixtureEngine) -> None:
    """All forward passes, each as a step, with drafts that are rejected."""
    tokens = sequences(mixture.VOCABULARY)
    cache = mixture_engine.Cache(len(tokens), model.lm_head.weight.dtype)
    debugger = _debugger(folder, pair)
    for number, shares in enumerate(pair.passes):
        debugger.start(model=model)
        ids, told, rejected = mixture_engine.fed(tokens, shares, number, pair.drafts)
        model(ids, cache, told, rejected)
        debugger.stop()
        debugger.step()


@torch.no_grad()
def serve(folder: Path, pair: RolloutPair, model: engine.Engine) -> None:
    """All forward passes over the same tokens, each as a step unless they are `in_one_step`."""
    tokens = sequences()
    cache = engine.empty_cache(len(tokens), model.lm_head.weight.dtype)
    debugger = _debugger(folder, pair)
    for number, shares in enumerate(pair.passes):
        if not number or not pair.in_one_step:
            debugger.start(model=model)
        for request, (donor, length) in pair.cached.items():
            if any(share[:2] == (request, length) for share in shares):
                cache.keep(donor, request, length)
        model(engine.fed(tokens, shares), cache, engine.metadata(shares, number))
        if number == len(pair.passes) - 1 or not pair.in_one_step:
            debugger.stop()
            debugger.step()


def generate(folder: Path, pair: RolloutPair, model: later.Generator) -> None:
    """All forward passes of a batch of lines, each as a step."""
    past: later.Past | None = None
    debugger = _debugger(folder, pair)
    for fed, is_token in generating.passes(sequences(later.VOCABULARY), pair.lines):
        past = past or later.Past({}, {}, is_token)
        debugger.start(model=model)
        generating.generate(model, fed, is_token, past)
        debugger.stop()
        debugger.step()


def record(folder: Path, pair: RolloutPair, run: str) -> None:
    """Record one run."""
    torch.set_num_threads(1)
    fault = None if run == SOUND else run
    if pair.of_mixture:
        mixed = mixture.trainer(pair.dtype)
        if run == TRAINER:
            train(folder, pair, mixed)
        else:
            made = mixture_engine.engine(mixed, pair.engine_dtype or pair.dtype, fault)
            serve_mixture(folder, pair, made)
        return
    if pair.lines:
        original = later.trainer(pair.dtype)
        if run == TRAINER:
            train(folder, pair, original)
        else:
            generate(folder, pair, later.engine(original, fault))
        return
    model = trainer.trainer(pair.is_sparse, pair.dtype)
    if run == TRAINER:
        train(folder, pair, model)
    else:
        serve(folder, pair, engine.engine(model, pair.keeps_residual, fault))


def main() -> None:
    """Record what the command line asks for."""
    root, name, *runs = sys.argv[1:]
    pair = next(pair for pair in every_pair() if pair.name == name)
    context = multiprocessing.get_context("fork")
    for run in runs:
        process = context.Process(target=record, args=(Path(root) / run, pair, run))
        process.start()
        process.join()
        if process.exitcode:
            sys.exit(process.exitcode)


if __name__ == "__main__":
    main()
