/* What the outlets of one result say, held against each other: page, command, JSON, report and slides, in words and numbers. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

import type { Answer, Cause, DivergentShares, NodeList, PlacedTrace } from "../../tb_graph_ascend/frontend/src/api/types";
import { claimHeadline } from "../../tb_graph_ascend/frontend/src/i18n/claim";
import { reasonSentence } from "../../tb_graph_ascend/frontend/src/i18n/reason";
import { changeLanguage, createI18n } from "../../tb_graph_ascend/frontend/src/i18n/setup";
import { beginsText } from "../../tb_graph_ascend/frontend/src/state/causes";
import { modelFrame, tellingFrame } from "../../tb_graph_ascend/frontend/src/state/sourcelines";
import { certaintyText } from "../../tb_graph_ascend/frontend/src/text/certainty";
import { routerOf } from "./offlinepage";

/** A finding as `diagnose --json` has it. */
interface Told {
  number: number;
  step: number;
  rank: number;
  node: string;
  score: number | null;
  reasons: string[];
  certainty: { text: string } | null;
  source: { file: string; line: number; function: string; code: string } | null;
  propagated_to: number;
  perhaps: number;
  divergent: number;
}

interface Json {
  refusal: string | null;
  claim: { code: string };
  coverage: { pairs: number; matched: number; unmatched_problem: number; unmatched_benchmark: number; share: number | null };
  findings: Told[];
}

/** All tests of one result, of which `tests/e2e/outlets.py` wrote what is said of it into a folder. */
export function saysTheSame(folder: string): void {
  const text = (file: string): string => readFileSync(join(folder, file), "utf8");
  const json = once(() => JSON.parse(text("told.json")) as Json);
  const report = once(() => closed(plain(text("report.html"))));
  const { t } = createI18n();
  const page = once(async () => {
    const { router, data } = routerOf(join(folder, "page.html"));
    const ask = async <T>(path: string): Promise<T> => (await (await router.answer(`/api/databases/${data.db}/${path}`)).json()) as T;
    return { answer: await ask<Answer>("answer"), ask };
  });
  /** A cause of the page and what the command says of the finding that it shows. */
  const both = async (): Promise<{ cause: Cause; told: Told; slide: (language: string) => string | null }[]> => {
    const { causes } = (await page()).answer;
    return causes.map((cause, place) => {
      const told = json().findings.find(({ number }) => number === cause.finding.id);
      if (told === undefined) throw new Error(`the command has no finding ${cause.finding.id}`);
      const file = (language: string): string => `slide${place}.${language}.svg`;
      return { cause, told, slide: (language) => (existsSync(join(folder, file(language))) ? written(text(file(language))) : null) };
    });
  };

  it("names the same calls, in the same order", async () => {
    const { causes } = (await page()).answer;
    const findings = json().findings;
    const named = ({ finding: { node, score, step, rank } }: Cause): unknown[] => [node.name, score, step, rank];
    expect(causes.map(named)).toEqual((await both()).map(({ told: { node, score, step, rank } }) => [node, score, step, rank]));
    expect(causes.map(({ finding }) => finding.id)).toEqual(causes.map(({ finding }) => finding.id).sort((one, other) => one - other));
    expect(new Set(findings.map(({ node }) => node))).toEqual(new Set(causes.map(({ finding }) => finding.node.name)));
    expect(headsOf(text("told.txt"))).toEqual(findings.map(({ node }) => node));
    expect(headsOf(text("told.txt")).length === 0).toBe(causes.length === 0);
  });

  it("claims the same, of as much", async () => {
    const { answer: { claim, coverage, certain, causes } } = await page();
    const other = json();
    const counts = ({ pairs, matched, unmatched_problem, unmatched_benchmark, share }: Json["coverage"]): unknown => [pairs, matched, unmatched_problem, unmatched_benchmark, share];
    expect([claim.code, counts(coverage)]).toEqual([other.claim.code, counts(other.coverage)]);
    expect(other.refusal === null).toBe(certain);
    if (!certain || causes.length > 0) return;
    const head = claimHeadline(t, claim);
    for (const said of [text("told.txt"), report(), written(text("slide0.en.svg"))]) expect(said.toLowerCase()).toContain(head.toLowerCase());
  });

  it("gives the same reasons and is as sure of them", async () => {
    for (const { cause: { finding }, told, slide } of await both()) {
      const shown = finding.reasons.map((reason, index, all) => reasonSentence(t, reason, all.slice(0, index)));
      expect(shown.map(parts)).toEqual(told.reasons.map(parts));
      expect(certaintyText(t, finding.certainty ?? null)).toBe(told.certainty?.text);
      for (const sentence of [...told.reasons, told.certainty?.text ?? ""]) expect(text("told.txt")).toContain(`   ${sentence}\n`);
      const sentences = [...shown, told.certainty?.text ?? ""].map(closed);
      for (const sentence of sentences) expect(report()).toContain(sentence);
      const drawn = slide("en");
      if (drawn !== null) for (const sentence of [sentences[0], sentences.at(-1)]) expect(onSlide(closed(drawn), sentence ?? "")).toBe(true);
    }
  });

  it("has the same line of code everywhere", async () => {
    for (const { cause, told: { source }, slide } of await both()) {
      const frame = modelFrame(cause.stack ?? []);
      expect([frame?.file, frame?.number, frame?.scope, frame?.code]).toEqual([source?.file, source ? String(source.line) : undefined, source?.function, source?.code]);
      if (!source) continue;
      expect(text("told.txt")).toContain(`File ${source.file}, line ${source.line}, in ${source.function}, ${source.code}`);
      const drawn = slide("en");
      const named = tellingFrame(cause.stack ?? [], cause.stack_there, cause.finding.line_alone);
      if (drawn !== null) expect(drawn).toContain(`${named?.file.split("/").at(-1) ?? ""}:${named?.number ?? ""} in ${named?.scope ?? ""}`);
    }
  });

  it("begins in the same place, in both languages", async () => {
    const i18n = createI18n();
    const { answer } = await page();
    for (const language of ["en", "zh"] as const) {
      await changeLanguage(i18n, language);
      for (const { cause, slide } of await both()) {
        const begins = beginsText(i18n.t, cause, answer.claim);
        expect(begins).not.toContain("DefaultModel");
        const drawn = slide(language);
        if (drawn !== null) expect(onSlide(drawn, begins)).toBe(true);
      }
    }
    const [first] = await both();
    if (first !== undefined) expect(onSlide(report(), closed(beginsText(t, first.cause, answer.claim)))).toBe(true);
  });

  it("counts the same nodes that trace back to it", async () => {
    const { answer, ask } = await page();
    for (const { cause, told, slide } of await both()) {
      const { finding } = cause;
      const wanted = [told.propagated_to, told.perhaps, told.divergent];
      expect([finding.propagated_to, finding.perhaps, finding.divergent]).toEqual(wanted);
      const shown = [0, 0, 0];
      const places = [finding, ...finding.places];
      for (const at of new Set(places.map(({ step, rank }) => `${step}/${rank}`))) {
        const here = places.filter(({ step, rank }) => `${step}/${rank}` === at).map((one) => (typeof one.node === "number" ? one.node : one.node.id));
        const shares = await ask<DivergentShares>(`pairs/${at}/shares`);
        const own = shares.causes.filter(({ node }) => here.includes(node));
        const count = sum(own.map((one) => one.count));
        const began = finding.step < Number(at.split("/")[0]);
        const weights = began && answer.causes.length === 1 && json().findings.length === 1 ? shares.earlier : 0;
        // A way through weights leads on in the step before, where a guess may lie on it.
        const [sure, guessed] = told.perhaps > 0 ? [0, weights] : [weights, 0];
        [count + sure, sum(own.map((one) => one.perhaps)) + guessed, shares.divergent].forEach((more, place) => (shown[place] = (shown[place] ?? 0) + more));
        const listed = await ask<NodeList>(`pairs/${at}/divergent?cause=${here.join(".")}&offset=0&limit=500`);
        expect(listed.total).toBe(count);
      }
      expect(shown).toEqual(wanted);
      const drawn = slide("en");
      if (told.propagated_to + told.perhaps === 0) continue; // of none traced no number is told
      if (drawn !== null && cause.place_count === 1 && told.divergent > 0) expect(drawn).toContain(reachOf(told));
      if (told.divergent > 0) expect(text("told.txt")).toContain(counted(told));
      if (told.divergent > 0 && told.perhaps > 0) expect(text("told.txt")).toContain(`trace back to it, ${told.perhaps} more perhaps`);
    }
  });

  it("leads the same ways back", async () => {
    const { ask } = await page();
    for (const { node, told: way } of JSON.parse(text("ways.json")) as { node: number; told: string }[]) {
      const { hops, finding } = await ask<PlacedTrace>(`nodes/${node}/trace`);
      const lines = way.split("\n").slice(1, hops.length + 1);
      expect(lines.map((line) => hops.find(({ name: hop }) => line.split(/\s+/).includes(hop))?.name)).toEqual(hops.map(({ name: hop }) => hop));
      if (finding !== null) expect(way).toMatch(new RegExp(`^there (begins|the runs part and come together again,) finding ${finding}: `, "m"));
    }
  });
}

/** What is made once, when it is first asked for. */
function once<T>(make: () => T): () => T {
  let made: { it: T } | null = null;
  return () => (made ??= { it: make() }).it;
}

/** The calls that the command lists, by number. */
function headsOf(text: string): string[] {
  return [...text.matchAll(/^\d+\. (\S+) \(/gm)].map(([, name = ""]) => name);
}

/** A sentence as its words and numbers; a page has four digits of a number, the command all. */
function parts(sentence: string): (string | number)[] {
  return sentence.replaceAll(" %", "%").split(/(\d+\.\d+(?:e[+-]\d+)?)/).map((part, place) => (place % 2 === 1 ? Number(Number(part).toPrecision(3)) : part));
}

/** A page has a gap before the percent sign and zeros up to four digits, command and report neither. */
function closed(text: string): string {
  return text.replaceAll(" %", "%").replaceAll(/\d+\.\d+/g, (number) => String(Number(number)));
}

function counted({ propagated_to: count, divergent }: Told): string {
  return count === divergent && count > 1 ? `all ${count} divergent nodes` : `${count} of ${divergent} divergent nodes`;
}

function reachOf(told: Told): string {
  return `${counted(told)} there`;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}

/** Whether a picture says it, as a whole or up to where a line ends for lack of room. */
function onSlide(drawn: string, sentence: string): boolean {
  if (drawn.includes(sentence)) return true;
  return drawn.split("…").slice(0, -1).some((before) => {
    for (let length = Math.min(before.length, sentence.length); length >= LEAST_SHOWN; length -= 1) if (before.endsWith(sentence.slice(0, length))) return true;
    return false;
  });
}

/** Characters of a sentence that a picture shows at least before it is cut. */
const LEAST_SHOWN = 40;

/** What a picture says, its lines joined. */
function written(svg: string): string {
  return [...svg.matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map(([, line = ""]) => plain(line)).join(" ");
}

function plain(html: string): string {
  return html.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"').replaceAll("&#x27;", "'").replaceAll("&#39;", "'").replaceAll("&#34;", '"').replaceAll("&amp;", "&");
}
