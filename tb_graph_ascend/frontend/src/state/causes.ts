/* A cause in words: its call, what differs, on which ranks, and the line of code it stands on. */

import type { TFunction } from "i18next";

import type { Cause } from "../api/types";
import { type Frame, parseFrame } from "../text/frames";
import { kindText, reasonText } from "../i18n/reason";
import { rangesText } from "./ranges";

/** `__mul__ #39`, with the direction where it runs backward. */
export function callText(t: TFunction, { finding: { node }, call }: Cause): string {
  const number = node.kind === "api" && call !== null ? ` #${call}` : "";
  return node.direction === "backward" ? `${node.label}${number} ${t("direction.backward")}` : node.label + number;
}

/** What differs, as the first reason tells it. */
export function causeText(t: TFunction, { finding }: Cause): string {
  const reason = finding.reasons[0];
  return reason ? reasonText(t, reason) : kindText(t, finding);
}

/** On which ranks and from which step. */
export function ranksText(t: TFunction, { ranks, first_step: step }: Cause): string {
  const listed = rangesText(ranks);
  return t("findings.ranks", { count: ranks.length, ranks: listed, step });
}

/** How many nodes only carry it on: in the steps that it is in, and in those after. */
export function followText(t: TFunction, cause: Cause): string {
  const { followed_by: count, followed_later: later, step_count: steps, first_step: step } = cause;
  const told = t("answer.follow", { count });
  if (later === 0) return told;
  const here = t(steps === 1 ? "answer.inStep" : "answer.inSteps", { here: count - later, step, steps });
  return t("answer.followLater", { told, here, later });
}

/** Where a framework speaks, not the model; a model's own package counts as the model. */
const FRAMEWORK =
  /[\\/](?:site|dist)-packages[\\/](?:torch|torch_npu|mindspore|msprobe|msprobe_core)[\\/]|[\\/]lib[\\/]python3\.\d+[\\/](?!site-packages)/;

/** The innermost frame outside the framework, else the innermost of all. */
export function modelFrame(stack: readonly string[]): Frame | null {
  const frames = stack.map(parseFrame).filter(({ number }) => number !== "");
  return frames.find(({ file }) => !FRAMEWORK.test(file)) ?? frames[0] ?? null;
}

/** The person's own innermost line, where the frame shown is a library's; null where they are one. */
export function callerFrame(stack: readonly string[]): Frame | null {
  const own = stack.map(parseFrame).find(({ number, library }) => number !== "" && !library);
  const shown = modelFrame(stack);
  return own && shown?.library ? own : null;
}
