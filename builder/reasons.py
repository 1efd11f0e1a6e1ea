"""Facts about a node, a finding or a comparison, stored as codes and told in words here.

The database keeps codes and arguments only, so that every interface words them in its language.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TypeAlias

Argument: TypeAlias = str | int | float | bool | None
Reason: TypeAlias = dict[str, Argument]

SENTENCES = {
    # verdict rules
    "nonfinite_here": "{value}: {what} is {state} here and finite in the benchmark",
    "norm_error_appears": "{value}: relative error of the norm {error:.3g}, while those of "
    "the inputs that have one stay below 0.1 (the rule looks at norms only)",
    "norm_error_grows": "{value}: relative error of the norm {error:.3g}, more than 10 times that "
    "of the inputs",
    "thousandth_drops": "{value}: only {ratio:percent} of the elements within 0.1 %, inputs above "
    "90 %",
    "cosine_drops": "{value}: cosine {cosine:.4f}, a drop of more than 0.1 from the inputs",
    "attribute_differs": "{value}: {attribute} is {problem} here and {benchmark} in the benchmark",
    "checksum_differs": "{value}: the checksums differ",
    "parameter_unmatched": "{value}: this parameter has no counterpart",
    "surplus": "{value}: exists on the {side} side only",
    "unrecorded": "{value}: the {side} run alone has numbers of it, so it is not compared",
    "unreadable": "{value}: its tensor file could not be read: {error}",
    "extension": "{text}",
    "measure": "{value}: {name} {number}",
    "fuzzy_guess": "matched with {partner} by a guess that scores {score:.2f}",
    # findings
    "introduced": "its inputs agree (score {input_score:.2f}), its {value} does not (score "
    "{score:.2f})",
    "introduced_beyond": "its inputs differ (score {input_score:.2f}), but not such that its "
    "{value} would (score {score:.2f})",
    "explained": "{value} is off by {apart:apart}{before}",
    "explained_sketch": "{value} is off by about {apart:apart}{before}",
    "explained_norm": "the norm of {value} is off by {apart:apart}{before}",
    "explained_mean": "the mean of {value} is off by {apart:apart} of the root mean square{before}",
    "explained_max": "the maximum of {value} is off by {apart:apart} of the largest magnitude"
    "{before}",
    "explained_min": "the minimum of {value} is off by {apart:apart} of the largest magnitude"
    "{before}",
    "extra_calls": "only the problem run calls {names}",
    "missing_calls": "only the benchmark run calls {names}",
    "extra_replaced": "the problem run calls {names} where the benchmark run calls {instead}",
    "missing_replaced": "the benchmark run calls {names} where the problem run calls {instead}",
    "extra_inside": "in it the problem run calls {names}",
    "missing_inside": "in it the benchmark run calls {names}",
    "heals": "all that comes of it agrees in the end: this is another way to the same result",
    "calls_beside": "at the same line one run alone calls {names}",
    "in_place_of": "in their place the other run calls {names}",  # of earlier releases
    "input_differs": "{value} differs (score {score:.2f}), and no recorded call before it "
    "explains that",
    "rewired": "{value} differs (score {score:.2f}): the problem run reads what {maker} put out, "
    "the benchmark run what {instead} put out",
    "fed_otherwise": "{value} is what {maker} put out here, and what {instead} put out in the "
    "benchmark",
    "batch_differs": "{value}, which the model is given, differs (score {score:.2f}): the two "
    "runs were fed different data",
    "rows_differ": "{count} of the {total} rows of {value}, which the model is given, are not "
    "those that the benchmark run is given: rank {ranks} ({coordinates}) was fed other data",
    "unrecorded_differs": "{value} differs (score {score:.2f}) and no recorded call makes it: "
    "{perhaps}",
    "integers_differ": "{value} holds other integers: the two runs were fed different data, or "
    "made them by calls that are not recorded",
    "parameter_differs": "{value} differs (score {score:.2f}) before the step computes anything",
    "rewritten": "the optimizer left other parameters in step {step} than are read here; the "
    "benchmark run reads what its optimizer left",
    "rewritten_on": "the optimizer left other parameters in step {step} than are read here on rank "
    "{ranks} ({coordinates}); the benchmark run reads what its optimizer left",
    "rewritten_there": "the benchmark run reads other parameters here than its optimizer left in "
    "step {step}; this run reads what its optimizer left",
    "optimizer": "all gradients of step {step} agree, so the optimizer's update is what differs",
    "drift": "{value} differs (score {score:.2f}); the difference grows over many calls, most of "
    "all here",
    "hidden_by_infinity": "infinities in its output hide whether it agrees; {reader} reads it as "
    "{value}, and there the outputs differ",
    "handed_on": "{reader} receives {value} from here, and it differs; what this call receives "
    "agrees, and what it hands on is not recorded",
    "first_inexact": "everything before agrees to the last digit, {value} is the first that does "
    "not; {reader} makes the difference grow",
    "replica_differs": "{value} should be the same on all {axis} ranks and is not: rank {ranks} "
    "({coordinates}), relative error between the ranks {error:.3g}",
    "not_reduced": "the ranks' values add up to the benchmark's: they are not summed over {axis}",
    "misplaced": "{value} does not lie in the {order} order that the run says: rank {ranks} "
    "({coordinates}) holds other positions",
    "other_axis": "{text}",
    "gradients_scaled": "all gradients that the optimizer reads are {factor:.4g} times the "
    "benchmark's: the loss, clipping or the reduction, no parameter of its own",
    "updates_differ": "what the optimizer reads or writes differs for nearly all parameters "
    "({count}): the step as a whole",
    "same_of": "the same is true of {count} more: {names}",
    "partial_used": "{text}",
    "update_alone": "the gradient that the optimizer reads and the parameter before agree, what it "
    "leaves does not: its settings, its state or the update itself",
    "shard_differs": "rank {ranks} ({coordinates}) has a part that is off",
    "on_ranks": "on rank {ranks} ({coordinates}){there}",
    "elements_moved": "{maker} puts out the same elements in both runs; in {value} they stand in "
    "other places: they were moved on the way here",
    "elements_differ": "{value}: the four statistics agree, but the elements are off by about "
    "{error:apart}",
    "elements_differ_elements": "{value}: the four statistics agree, but the elements are off by "
    "{error:apart}",
    "elements_apart": "{value}: its elements are off by about {error:apart}",
    "elements_apart_elements": "{value}: its elements are off by {error:apart}",
    "elements_count": "{value}: {count} of its {size} elements differ",
    "statistics_agree": "{value}: its statistics agree, only its elements do not",
    "extremes_agree": "{value}: its elements differ; of statistics it has largest and smallest "
    "alone, and those agree",
    "unwritten": "{value}: memory that nobody had written yet, which is not compared",
    "fused": "{value}: a compiler has fused it away, so it has no numbers to compare",
    "unread": "{value}: the call does not read it (beta is 0), so it is not compared",
    "incomparable": "{value}: the frameworks record gradients of different things here, so it is "
    "not compared",
    "two_frameworks": "{problem} against {benchmark}: each layer of the frameworks is compared as "
    "a whole, not the calls inside it, and the optimizer is left aside",
    "rules_unfit": "rules for calls that fit none ({count}): {names}",
    "files_broken": "files of values that cannot be read and are not compared ({count}), first "
    "{name}",
    "default_differs": "{what} is {mindspore} by default in MindSpore and {pytorch} in PyTorch",
    "nonfinite_made": "makes {state} in {value} from finite inputs",
    "nonfinite_first": "its {value} holds the first {state} of its step, where the benchmark has "
    "none",
    "nonfinite_follows": "the first {state} of its step, where the benchmark has none, is in "
    "{value} of {maker}; this call, which runs before it, already differs",
    "argument_differs": "the argument {value} is {problem} here and {benchmark} in the benchmark",
    "precision_differs": "computed in {problem} here and in {benchmark} in the benchmark",
    "partner_missing": "rank {peer_rank} makes no {kind} that belongs to it",
    "collective_order": "rank {peer_rank} calls {other} where this rank calls {kind}",
    "checkpoint_recomputed": "runs in the backward pass: recomputed by activation "
    "checkpointing, or called by a backward of one's own",
    # the comparison as a whole
    "precision_setting": "computed in {problem} in the problem run and in {benchmark} in the "
    "benchmark (most values, or a whole class of calls); tolerances follow the coarser one",
    "statistics_only": "a tensor dump against a statistics dump: compared on the statistics both "
    "have",
    "unlike_statistics": "dumps of unlike tasks, {problem} against {benchmark}: compared on the "
    "statistics that both have",
    "unlike_checksums": "dumps of unlike tasks, {problem} against {benchmark}: compared on the "
    "checksums that both have",
    "unlike_attributes": "dumps of unlike tasks, {problem} against {benchmark}: they have no "
    "measure of a tensor in common; arguments, dtypes and shapes alone were compared",
    "unlike_names": "dumps of unlike tasks, {problem} against {benchmark}: one holds no values; "
    "names alone were compared",
    "rated_error": "no finding names it, but nodes are rated error ({count}): something else of "
    "their values than a number differs, as format, shape or an argument; first {name}",
    "untold_choices": "{name} (of {count} such calls) picks others of numbers that agree to "
    "rounding, and nothing recorded tells whether that is a tie or a fault",
    "ties": "{name} (of {count} such calls) ranks numbers that agree to rounding and picks others: "
    "a tie; what is gathered by them differs and is no finding",
    "number_taken": "{name} of the {side} side has the number of another folder beside it, and is "
    "shown as {number}",
    "placed_by_names": "the {side} dump has no construct.json: its modules stand as their names "
    "say, and its calls where the other run has calls of their names, or beside their neighbours",
    "merged": "the ranks are compared as one logical run: {problem} against {benchmark}",
    "not_merged": "compared rank by rank, not as one logical run: {why}",
    "merged_little": "fewer than half of the values could be compared: {compared} of {total}",
    "merged_values": "{compared} values were compared, of these {assumed} by a guess of how the "
    "ranks share them and {bounded} by their mean alone; {set_aside} were not ({reasons})",
    "only_in": "step {step} rank {rank} exists on the {side} side only",
    "nothing_comparable": "no values could be compared",
    # what speaks for a manual pair
    "same_parameters": "the same parameter shapes ({count})",
    "same_class": "the same class {name}",
    "same_inside": "{count} modules inside on both sides",
    "same_place": "the same place among its neighbours",
    # files of msprobe's own builder
    "msprobe_file": "written by msprobe's own builder: scores are its precision index",
    "msprobe_error": "msprobe's own rules call this node an error, and none of those below it",
    "msprobe_message": "{value}: {text}",
    "parallel_merge": "{text}",
}


_SHOWN = 3  # names of a longer list


def same_of(names: Sequence[str]) -> list[Reason]:
    """That the same is true of others, the first few by name; nothing of none."""
    if not names:
        return []
    shown = ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")
    return [{"code": "same_of", "count": len(names), "names": shown}]


# json.dumps would make an encoder each time.
_encode = json.JSONEncoder(ensure_ascii=False).encode


def encode(reasons: Iterable[Reason]) -> str | None:
    """The JSON text that the database stores; None when there is nothing to say."""
    listed = list(reasons)
    return _encode(listed) if listed else None


def decode(text: str | None) -> list[Reason]:
    """The reasons in a database cell."""
    return json.loads(text) if text else []


def percent(share: float) -> str:
    """A share in percent: with a digit behind the point, where that shows something."""
    hundredths = 100 * share
    if hundredths == 0 or 0.1 <= abs(hundredths) < 1000:
        return f"{hundredths:.1f}%"
    return f"{hundredths:.0f}%" if 1000 <= abs(hundredths) < 1e6 else f"{hundredths:.2g}%"


# From ten times on nobody reads percent.
_TIMES = 10.0
_LARGE = ((1e12, " trillion"), (1e9, " billion"), (1e6, " million"), (1e3, " thousand"), (1.0, ""))


def apart(error: float) -> str:
    """How far a value is off: in percent of the benchmark, or by how many times it."""
    if not _TIMES <= error < 1e15:
        return percent(error) if error < _TIMES else f"{error:.1e} times the benchmark"
    rounded = float(f"{error:.2g}")
    unit, word = next(one for one in _LARGE if rounded >= one[0])
    return f"{rounded / unit:g}{word} times the benchmark"


class _Number(float):
    """A number that sentences may show in percent."""

    def __format__(self, specification: str) -> str:
        if specification == "percent":
            return percent(self)
        return apart(self) if specification == "apart" else super().__format__(specification)


# Below this share of what is to be explained, estimates of it say no more than their rounding.
_HARDLY = 0.01


def _before(explained: float, apart_: float) -> str:
    """How much of an error what differs before a value explains."""
    if explained == 0:
        return ", and nothing before it explains that"
    if explained < _HARDLY * apart_:
        return ", and what differs before it explains less than 1% of that"
    return f", and what differs before it explains {percent(explained / apart_)} of that"


def _perhaps(maker: Argument) -> str:
    """What may have made a value that no recorded call made."""
    if maker is None:
        return (
            "other data, or something else that is made unrecorded, as masks and indices often are"
        )
    return (
        f"perhaps {maker}, which runs right before and left no values; else another call that is "
        "not recorded, or other data"
    )


def sentence(reason: Reason) -> str:
    """One reason in English.

    A reason may say of what its number is (`of`), for which there may be a sentence of its own, and
    of which other node its value is (`at`). An unknown code, or one without what its sentence needs
    (a newer file, or a foreign one), is shown with its arguments.
    """
    code = str(reason.get("code", "?"))
    arguments = {key: value for key, value in reason.items() if key != "code"}
    try:
        shown: dict[str, object] = {
            k: _Number(v) if isinstance(v, float) else v for k, v in arguments.items()
        }
        if "at" in shown:
            shown["value"] = f"{shown['value']} of {shown['at']}"
        if code == "explained":
            shown["before"] = _before(float(str(reason["explained"])), float(str(reason["apart"])))
        shown["perhaps"] = _perhaps(reason.get("maker"))
        return SENTENCES.get(f"{code}_{reason.get('of')}", SENTENCES[code]).format(**shown)
    except (KeyError, ValueError, TypeError):
        return f"{code} {json.dumps(arguments, ensure_ascii=False)}"
