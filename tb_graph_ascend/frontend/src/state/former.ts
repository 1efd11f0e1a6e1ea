/* Causes that were found before pairs were made by hand: which of them stands, and where it begins now. */

import type { TFunction } from "i18next";

import type { Answer, Cause } from "../api/types";
import { type Cell, type NodePlace, placeOf } from "./places";

/** The cause that stands: the one at which it begins with the pairs too, and that they did not touch. */
export function standingCause({ causes, since }: Pick<Answer, "causes" | "since">): Cause | undefined {
  const node = since?.node?.id;
  return node === undefined ? undefined : causes.find(({ touched, nodes }) => !touched && nodes.includes(node));
}

/** Where it begins: at the first cause, or where it does since pairs were made; undefined where nowhere. */
export function beginningOf({ causes, since }: Pick<Answer, "causes" | "since">): NodePlace | undefined {
  if (!since) return causes[0] && placeOf(causes[0]);
  const { step, rank, node } = since;
  return node ? { step, rank, node: node.id } : undefined;
}

/** What a slide is of: the cause that is read above it, else the first, or where it begins since pairs were made. */
export function slideOf(
  answer: Pick<Answer, "causes" | "since">,
  read: Pick<Cause, "finding"> | null,
): { cause: Cause | undefined; place: NodePlace | undefined } {
  const standing = standingCause(answer);
  const cause = answer.causes.find(({ finding }) => finding.node.id === read?.finding.node.id) ?? (answer.since ? standing : answer.causes[0]);
  return { cause, place: cause && cause !== standing ? placeOf(cause) : beginningOf(answer) };
}

/** Where it begins, or where something does in one step and rank. */
export function firstPlace(answer: Pick<Answer, "causes" | "since">, at: Cell | undefined): NodePlace | undefined {
  if (!at) return beginningOf(answer);
  return answer.causes.flatMap(({ places }) => places).find(({ step, rank }) => step === at.step && rank === at.rank);
}

/** What pairs made since then mean for a cause. */
export function formerText(t: TFunction, { touched }: Pick<Cause, "touched">, stands: boolean): string {
  if (stands) return t("certainty.formerStands");
  return t(touched ? "certainty.former" : "certainty.formerUntouched");
}
