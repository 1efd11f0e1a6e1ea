/* A cause in words: its call, what differs, on which ranks, and the line of code it stands on. */

import type { TFunction } from "i18next";

import type { AcrossCell, Cause, CausePlace, Claim, CommunicationLink, DivergentShares, Node, NodeDetails, PlacedHop, Reason, Side } from "../api/types";
import { calledAs, calledBriefly, calledByName, marked } from "../graph/called";
import { labelOfName, shortName } from "../graph/labels";
import { toldBriefly } from "../graph/named";
import { holdsEverywhere, isFed } from "../i18n/findingreasons";
import { kindText, reasonSentence } from "../i18n/reason";
import { scoreText } from "../text/numbers";
import { rangesText } from "./ranges";
import { isEntered, modelFrame, tellingFrame } from "./sourcelines";
import type { Frame } from "../text/frames";

/** What the server calls the module of what the optimizer does. */
export const OPTIMIZER = "optimizer";

/** `__mul__ #39`, with mark and word where it ran backward: a headline is read before any legend. */
export function callText(t: TFunction, { finding: { node } }: Cause): string {
  const backward = node.direction === "backward";
  return marked(calledBriefly(node), backward) + (backward ? ` ${t("direction.backward")}` : "");
}

/** What differs, as the first reason tells it, and where NaN comes first, in the step of the finding, for another may be shown. */
export function causeText(t: TFunction, cause: Cause): string {
  return toldBriefly(causeSentence(t, cause));
}

/** The same with all calls by their whole names. */
export function causeSentence(t: TFunction, cause: Cause): string {
  const { finding } = cause;
  const reason = finding.reasons[0];
  const what = reason ? reasonSentence(t, reason) : kindText(t, finding);
  const healed = healing(cause);
  if (healed) return `${what}; ${reasonSentence(t, healed)}`;
  const nonfinite = finding.reasons.slice(1).find((reason) => reason.code === "nonfinite_first" || reason.code === "nonfinite_follows");
  if (!nonfinite) return what;
  const maker = nonfinite.code === "nonfinite_follows" ? nonfinite.maker : t("answer.itself");
  return t("answer.withNonfinite", { what, maker, state: nonfinite.state, step: finding.step });
}

/** The run whose call a name in the reasons of a cause is: each may have other calls of the same name. */
export function sideOfName({ finding: { reasons } }: Cause, name: string): Side {
  const of = (fact: string | null): boolean => fact?.split(", ").includes(name) ?? false;
  const reason = reasons.find((one) => of(namesIn(one)) || of(insteadIn(one)));
  if (!reason) return "problem";
  const missing = reason.code === "missing_calls" || reason.code === "missing_replaced" || reason.code === "missing_inside";
  return of(insteadIn(reason)) !== missing ? "benchmark" : "problem";
}

/** The calls that a reason names, with commas between; null of one that names none. */
function namesIn(reason: Reason): string | null {
  return "names" in reason ? reason.names : null;
}

/** Those of the other run in their place. */
function insteadIn(reason: Reason): string | null {
  return "instead" in reason ? reason.instead : null;
}

/** The call that puts out the first NaN behind a cause, by its name; null where the cause does so itself, or none. */
export function nonfiniteMaker({ finding }: Cause): string | null {
  return finding.reasons.find((reason) => reason.code === "nonfinite_follows")?.maker ?? null;
}

/** What the score of a cause is of: its own output, of a call without a partner what it hands on, or the worst that it
 * brings about where neither says anything. */
export function causeScoreText(t: TFunction, cause: Cause): string {
  const { finding: { node, score }, worst } = cause;
  if (leadsToMore(cause)) return t("findings.scoreBrought", { score: scoreText(worst) });
  return t(node.match === null ? "findings.scoreHandedOn" : "details.scoreIs", { score: scoreText(score) });
}

/** What stands on the badge of a cause whose score is of what it leads to; null where its own says it. */
export function leadsToText(t: TFunction, cause: Cause): string | null {
  return leadsToMore(cause) ? t("findings.leadsTo", { score: scoreText(cause.worst) }) : null;
}

/** Whether the score that a cause is listed by is another's: its own node hands on nothing that differs. */
export function leadsToMore({ finding, worst }: Cause): boolean {
  return worst !== finding.score;
}

/** What the dump lacks of a cause without values, and where its difference is first seen behind it. */
export function withoutValuesText(t: TFunction, cause: Cause): string {
  const seen = cause.finding.reasons.map(seenIn).find((place) => place !== null);
  const lacks = t("details.noValuesOfCause", { call: callText(t, cause) });
  return seen ? `${lacks} ${t("details.firstSeenIn", { call: calledByName(seen) })}` : lacks;
}

/** The call behind a cause in whose values a reason sees the difference. */
function seenIn(reason: Reason): string | null {
  if ("reader" in reason) return reason.reader;
  return "at" in reason && typeof reason.at === "string" ? reason.at : null;
}

/** The cause that a node is itself. */
export function causeAt(causes: readonly Cause[], node: number | null): Cause | undefined {
  return causes.find(({ finding }) => finding.node.id === node);
}

/** Whether what a node is given diverges, and what it puts out does not. */
export function isGivenWorse({ score, input_score: input }: Pick<AcrossCell, "score" | "input_score">, threshold: number | undefined): boolean {
  return threshold !== undefined && input !== null && input > threshold && (score ?? 0) <= threshold;
}

/** The score of a node; of a call without a partner, which has none, that of what it hands on. */
export function scoreWith(causes: readonly Cause[], { node, score, handed_on: handed = null }: Scored): number | null {
  return score ?? handed ?? causeAt(causes, node)?.finding.score ?? null;
}

type Scored = Pick<AcrossCell, "node" | "score"> & { handed_on?: number | null };

/** What stands in a cell in place of a score: that a cause is there, too, whose score was taken in another. */
export function unscoredText(t: TFunction, causes: readonly Cause[], cell: Scored): string | null {
  const isPlace = causes.some((cause) => isPlaceOf(cause, cell.node));
  return isPlace && scoreWith(causes, cell) === null ? t("across.ofCause") : null;
}

/** Why a call has no score to draw over the steps; that of one without a partner is of what it hands on. */
export function noSeriesText(
  t: TFunction,
  { node: { side }, partner }: Pick<NodeDetails, "node" | "partner">,
  cells: readonly AcrossCell[],
  causes: readonly Cause[],
): string {
  if (partner) return t(cells.some(({ input_score: given }) => given != null) ? "across.givenAlone" : "across.unscored");
  const cell = cells.find((one) => scoreWith(causes, one) !== null);
  if (!cell) return t("across.unmatched");
  const { step, rank } = cell;
  const told = { step, rank, score: scoreText(scoreWith(causes, cell)) };
  return t(side === "problem" ? "across.causeProblem" : "across.causeBenchmark", told);
}

/** Where a cause is: in its one step and rank, else on which ranks and from which step; and from which step on
 * values show it, where it is there before any does. */
export function historyText(t: TFunction, cause: Cause): string {
  const { ranks, first_step: first, last_step: last, finding } = cause;
  const where = ranks.length === 1 && first === last ? t("findings.place", { step: first, rank: ranks[0] }) : ranksText(t, cause);
  return finding.step > first ? where + t("findings.shownFrom", { step: finding.step }) : where;
}

/** On which ranks and from which step. */
function ranksText(t: TFunction, { ranks, first_step: step }: Cause): string {
  const listed = rangesText(ranks);
  return ranks.length === 1 ? t("findings.ranksOne", { ranks: listed, step }) : t("findings.ranks", { count: ranks.length, ranks: listed, step });
}

/** Whether a node is a place of a cause. */
export function isPlaceOf({ nodes }: Cause, node: number | null): boolean {
  return node !== null && nodes.includes(node);
}

/** How many of the divergent nodes of the step and rank on screen go back to any of its places there, and
 * their nodes; null where it is not on them, or nothing diverges. Where it is `alone` in its file and began before, what
 * comes of weights of the step before comes of it as well. */
export function ledBackTo(
  t: TFunction,
  { nodes, finding }: Cause,
  shares: DivergentShares | undefined,
  alone = false,
): { nodes: number[]; text: string } | null {
  const named = new Set(nodes);
  const own = shares?.causes.filter(({ node }) => named.has(node)) ?? [];
  if (!shares || own.length === 0 || shares.divergent === 0) return null;
  const count = own.reduce((sum, share) => sum + share.count, 0);
  const perhaps = own.reduce((sum, share) => sum + share.perhaps, 0);
  const before = shares.earlier_step;
  const weights = alone && typeof before === "number" && finding.step <= before ? shares.earlier : 0;
  // A way through weights leads on in the step before, where a guess may lie on it.
  const guessed = (finding.perhaps ?? 0) > 0;
  if (count + perhaps + weights === 0) return null; // what it leads to may not have been followed
  const through = weights > 0 ? t("answer.ledBackWeights", { count: weights, step: shares.earlier_step }) : "";
  const text = guessed
    ? ledBackText(t, count, shares.divergent) + perhapsText(t, perhaps + weights) + through
    : ledBackText(t, count + weights, shares.divergent) + through + perhapsText(t, perhaps);
  // What two causes lead to counts for the nearer one: a small number is no small reach.
  const shared = shares.causes.some(({ node }) => !named.has(node));
  const left = !alone && shares.earlier > 0 ? t("answer.weightsUncounted", { count: shares.earlier, step: shares.earlier_step }) : "";
  return { nodes: own.map(({ node }) => node), text: (shared ? text + t("answer.countedOnce") : text) + left };
}

/** The same over all steps and ranks that a cause is on, as the file tells; null where it is on one alone, or that
 * was not counted. */
export function reachText(t: TFunction, { finding }: Cause, alone = true): string | null {
  const { step, rank, propagated_to: count, perhaps, divergent, places } = finding;
  if (!divergent || !(count || perhaps) || places.every((place) => place.step === step && place.rank === rank)) return null;
  const told = count === divergent && count > 1 ? "answer.ledBackEverywhereAll" : "answer.ledBackEverywhere";
  const steps = new Set(places.map((place) => place.step).concat(step));
  return t(told, { count, divergent }) + perhapsText(t, perhaps ?? 0) + (alone || steps.size === 1 ? "" : t("answer.stepsUncounted"));
}

function perhapsText(t: TFunction, count: number): string {
  return count > 0 ? t("answer.ledBackPerhaps", { count }) : "";
}

function ledBackText(t: TFunction, count: number, divergent: number): string {
  return count === divergent && count > 1 ? t("answer.ledBackAll", { count }) : t("answer.ledBack", { count, divergent });
}

/** Of calls that one run alone makes those that no cause names: by kind, for a cause names the first of many alike.
 *
 * Of what both runs make equally often without a partner, other names are the reason. */
export function unnamedCalls<Call extends { name: string; side: string }>(causes: readonly Cause[], alone: readonly Call[]): Call[] {
  const facts = causes.flatMap(({ finding: { reasons } }) => reasons.flatMap((reason) => [namesIn(reason), insteadIn(reason)]));
  const named = new Set(facts.flatMap((names) => names?.split(", ") ?? []).map(kindOfCall));
  const count = (kind: string, of: Side): number => alone.filter(({ name, side }) => side === of && kindOfCall(name) === kind).length;
  const renamed = (kind: string): boolean => count(kind, "problem") > 0 && count(kind, "problem") === count(kind, "benchmark");
  return alone.filter(({ name }) => !named.has(kindOfCall(name)) && !renamed(kindOfCall(name)));
}

/** Of calls that one run alone makes those that are the model's: what a parallel layout calls between and inside of
 * layers, as sums over ranks and the views around them, is no change, and where it computes otherwise the layer's
 * output says so. */
export function withoutLayout<Row extends { node: Pick<Node, "match_reason"> }>(alone: readonly Row[]): Row[] {
  return alone.filter(({ node }) => node.match_reason !== "layout");
}

/** Of calls that one run alone makes those that a cause does not end or begin: its sentence names the last of a run of
 * calls, and what stands right before or behind them in the same run of the program is one change with them. Where a
 * cause is that ranks hold unlike values, what the benchmark alone sends between ranks is what they lack. */
export function withoutNeighbours<Row extends { node: Pick<Node, "id" | "name" | "side"> }>(causes: readonly Cause[], alone: readonly Row[]): Row[] {
  const named = new Set(causes.flatMap(({ finding: { reasons } }) => reasons.flatMap((reason) => [namesIn(reason), insteadIn(reason)].flatMap((names) => names?.split(", ") ?? []))));
  const ids = new Set(alone.map(({ node }) => node.id));
  const unlike = causes.some(({ finding: { reasons } }) => reasons.some(({ code }) => code === "ranks_conflict"));
  const isSent = ({ name, side }: Row["node"]): boolean => unlike && side === "benchmark" && name.startsWith("Distributed.");
  const told = new Set(alone.filter(({ node }) => named.has(node.name) || isSent(node)).map(({ node }) => node.id));
  const spread = (id: number, by: number): void => {
    for (let next = id + by; ids.has(next) && !told.has(next); next += by) told.add(next);
  };
  for (const id of [...told]) [-1, 1].forEach((by) => spread(id, by));
  return alone.filter(({ node }) => !told.has(node.id));
}

/** Of calls that one run alone makes those that do not follow from gradients which the other run cut off: a backward
 * call follows from its forward call, what has no gradient is not updated, and what one run alone calls may hold
 * parameters that this run alone updates. */
export function withoutLostGradients<Row extends Alone>(causes: readonly Cause[], alone: readonly Row[]): Row[] {
  const named = new Set(alone.map(({ node: { side, name } }) => `${side} ${name}`));
  const isLost = ({ node: { side, name, direction } }: Row): boolean =>
    direction === "backward" && !named.has(`${side} ${name.replace(/\.backward$/, ".forward")}`);
  const lost = new Set(alone.filter(isLost).map(({ node }) => node.side));
  const cut = causes.some(({ finding: { reasons } }) => reasons[0]?.code === "attribute_differs" && reasons[0].attribute === "requires_grad");
  const calls = new Set(causes.map(calledAlone));
  const isUpdate = ({ module, node }: Row): boolean => module === OPTIMIZER && (cut || lost.has(node.side) || calls.has(node.side));
  return alone.filter((row) => row.node.direction !== "backward" && !isUpdate(row));
}

/** The run that alone makes the calls which a cause names; null where it names none such. */
function calledAlone({ finding: { reasons } }: Cause): Side | null {
  const code = reasons[0]?.code;
  if (code === "extra_calls" || code === "extra_replaced") return "problem";
  return code === "missing_calls" || code === "missing_replaced" ? "benchmark" : null;
}

interface Alone {
  module: string | null;
  node: Pick<Node, "name" | "side" | "direction">;
}

/** Whether a call stands on the line of code that a cause stands on, or in the same helper beside it: then it is a part of
 * that fault, not another. */
export function sameLine(causes: readonly Cause[], details: Pick<NodeDetails, "stack"> | undefined): boolean {
  const { problem, benchmark } = details?.stack ?? {};
  const own = [problem, benchmark].map((stack) => (stack ? modelFrame(stack) : null));
  return causes.some(({ stack, stack_there: there }) =>
    [stack, there].map((one) => (one ? modelFrame(one) : null)).some((line) => own.some((frame) => line !== null && frame !== null && areOneLine(line, frame))),
  );
}

/** Whether two frames are one line, or two that follow each other in a function of their own. */
function areOneLine(one: Frame, other: Frame): boolean {
  const between = Math.abs(Number(one.number) - Number(other.number));
  return one.file === other.file && (between === 0 || (between === 1 && one.scope === other.scope && !isEntered(one)));
}

/** From which hop on a way is a guess: through a call without values, or where the diagnosis leads on behind one
 * that one run alone makes and no cause names; -1 where it is none. */
export function perhapsFrom(causes: readonly Cause[], hops: readonly PlacedHop[]): number {
  const guessed = (before: PlacedHop | undefined): boolean =>
    before?.matched === false && causeAt(causes, before.node) === undefined && unnamedCalls(causes, [before]).length > 0;
  return hops.findIndex(({ link }, index) => link === "guess" || (link === "cause" && guessed(hops[index - 1])));
}

/** `Tensor.add.7.forward` is one of `Tensor.add`. */
function kindOfCall(name: string): string {
  return name.split(".").slice(0, 2).join(".");
}

/** The rank from which a difference came in by a call: what it was given agrees, what that rank gave does not. */
export function senderTo({ node, communication }: NodeDetails, threshold: number): CommunicationLink | null {
  if ((node.score ?? 0) <= threshold || (node.input_score ?? 0) > threshold) return null;
  const apart = (link: CommunicationLink): number => link.peer_input_score ?? 0;
  const [worst] = [...communication].sort((one, other) => apart(other) - apart(one));
  return worst && apart(worst) > threshold ? worst : null;
}

/** That a cause is another way to the same result: all that its step puts out agrees. */
export function healing({ finding }: Cause): Reason | undefined {
  return finding.reasons.find(({ code }) => code === "heals");
}

/** How many causes there are, of which those that heal stand last and are none: they are other ways to one result. */
export function countText(t: TFunction, causes: readonly Cause[], count: number): string {
  const first = causes.findIndex((cause) => healing(cause) !== undefined);
  const begin = first < 0 ? count : first;
  const parts = [begin > 0 && t("answer.causes", { count: begin }), begin < count && t("answer.ways", { count: count - begin })];
  return parts.filter((part) => part !== false).join(t("answer.comma"));
}

/** Where it begins: in a module, or in the script, or before what only reads it; what the optimizer does has its own
 * sentence. What heals begins nowhere; that both runs come to one result may be said where that is the `claim` of the
 * whole. */
export function beginsText(t: TFunction, cause: Cause, { code }: Pick<Claim, "code">): string {
  const module = cause.spoken ?? scriptPlace(t, cause, cause.finding.line_alone);
  if (healing(cause)) return t(code === "heals" ? "claim.say.heals_inside" : "claim.say.heals_beside", { module });
  const { node } = cause.finding;
  const how = isFed(cause.finding) ? (node.kind === "api" ? "before_call" : "before") : "in";
  const where = cause.module === OPTIMIZER ? "optimizer" : runsBackward(node) ? "backward" : "module";
  return t(`begins.${how}.${where}`, { module, call: how === "before_call" ? calledBriefly(node) : "" });
}

/** Whether a cause is the module itself in which it is said to stand. */
export function isItsModule(module: string | null, name: string): boolean {
  return module !== null && shortName(name) === module;
}

/** What stands for a module where a call is in none: the function and line that make it. */
export function scriptPlace(t: TFunction, { stack, stack_there: there }: Pick<Cause, "stack" | "stack_there">, lineAlone: boolean): string {
  const frame = tellingFrame(stack ?? [], there, lineAlone);
  if (frame === null) return t("claim.say.script");
  const file = frame.file.split(/[\\/]/).at(-1) ?? frame.file;
  const told = { function: frame.scope, file, line: frame.number };
  // A lambda or a comprehension has no name of its own.
  return frame.scope.startsWith("<") ? t("claim.say.script_line", told) : t("claim.say.script_function", told);
}

/** Whether a node runs in the backward pass: as a gradient, or as a call that a backward makes. */
function runsBackward({ direction, recomputed }: Pick<Node, "direction" | "recomputed">): boolean {
  return direction === "backward" || recomputed;
}

/** Whether a cause is on other ranks than that on screen: the same call may run there and be none. */
export function isElsewhere({ ranks }: Pick<Cause, "ranks">, rank: number | null): boolean {
  return rank !== null && !ranks.includes(rank);
}

/** The cause that the same call is on another rank of the step, where it is none here. */
export function causeOnAnotherRank(causes: readonly Cause[], node: Pick<Node, "id" | "name" | "side">, rank: number | null): CausePlace | undefined {
  if (causes.some(({ places }) => places.some((place) => place.node === node.id))) return undefined;
  const named = causes.filter(({ finding }) => finding.node.side === node.side && finding.node.name === node.name);
  return named.flatMap(({ places }) => places).find((place) => place.name === node.name && place.rank !== rank);
}

/** The reasons of a cause: those that hold wherever it is, and those of the step and rank in which it was found. */
export function reasonsByPlace({ finding: { reasons } }: Cause): { everywhere: Reason[]; there: Reason[] } {
  return { everywhere: reasons.filter(holdsEverywhere), there: reasons.filter((reason) => !holdsEverywhere(reason)) };
}

/** In how many places a cause is, and how many of them are on screen: all else around a card is of these. */
export function placesText(t: TFunction, { places, place_count: count, ranks }: Cause, at: { step: number | null; rank: number | null }): string {
  const here = places.filter(({ step, rank }) => step === at.step && rank === at.rank).length;
  const told = here > 0 && here < count && places.length === count;
  if (!told) return t("findings.places", { count });
  return t(ranks.length > 1 ? "findings.placesOnRank" : "findings.placesHere", { count: here, total: count });
}

/** A place of a cause: its module and call, with the number of the call, then step and rank: each is that of many. */
export function placeText(t: TFunction, { finding: { node } }: Cause, { name, module, step, rank }: CausePlace): string {
  // A place may be of another call than the cause: the optimizer's step is a place of each of its updates.
  const own = name === node.name ? node : { name, ...labelOfName(name) };
  const itself = own.kind === "collection" && module !== null ? null : calledAs(own);
  const stands = [own.kind === "module" ? null : module, itself].filter((part) => part !== null);
  return `${stands.join(" › ")} · ${t("findings.place", { step, rank })}`;
}
