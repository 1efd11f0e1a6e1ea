/* Page, command, JSON, report and slide say the same of a fault, in words and numbers, whatever it is. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import type { Answer, Cause, DivergentShares, NodeList, PlacedTrace } from "../../tb_graph_ascend/frontend/src/api/types";
import { reasonSentence } from "../../tb_graph_ascend/frontend/src/i18n/reason";
import { changeLanguage, createI18n } from "../../tb_graph_ascend/frontend/src/i18n/setup";
import { beginsText, modelFrame } from "../../tb_graph_ascend/frontend/src/state/causes";
import { certaintyText } from "../../tb_graph_ascend/frontend/src/text/certainty";
import { routerOf } from "./offlinepage";
import { python } from "./setup";

/** Those of tests/e2e/faults.py, and the kind of their first finding. */
const FAULTS = ["argument", "extra", "missing", "replaced", "detached", "coarse", "unseen", "data", "weights", "nan", "loss", "reduction", "clipping", "momentum", "equal", "roundabout"];
const NAMING_NOTHING = ["equal", "roundabout"];

/** A finding as `diagnose --json` has it. */
interface Told {
  step: number;
  rank: number;
  node: string;
  type: string;
  inside: string | null;
  score: number | null;
  heals: boolean;
  reasons: string[];
  certainty: { text: string } | null;
  source: { file: string; line: number; function: string; code: string } | null;
  propagated_to: number;
  perhaps: number;
  divergent: number;
}

const folder = mkdtempSync(join(tmpdir(), "agreement-"));
beforeAll(() => {
  python(["-W", "ignore", "-m", "tests.e2e.faults", folder]);
}, 300_000);
afterAll(() => {
  rmSync(folder, { recursive: true });
});

describe.each(FAULTS)("what is said of %s", (name) => {
  const text = (file: string): string => readFileSync(join(folder, name, file), "utf8");
  const told = (): Told[] => (JSON.parse(text("told.json")) as { findings: Told[] }).findings;
  const { t } = createI18n();

  async function page(): Promise<{ answer: Answer; ask: <T>(path: string) => Promise<T> }> {
    const { router, data } = routerOf(join(folder, name, "page.html"));
    const ask = async <T>(path: string): Promise<T> => (await (await router.answer(`/api/databases/${data.db}/${path}`)).json()) as T;
    return { answer: await ask<Answer>("answer"), ask };
  }

  it("names the same calls, in the same order, on page and by command", async () => {
    const { causes } = (await page()).answer;
    expect(causes.map(({ finding }) => [finding.node.name, finding.score, finding.step, finding.rank])).toEqual(told().map(({ node, score, step, rank }) => [node, score, step, rank]));
    expect(causes.length === 0).toBe(NAMING_NOTHING.includes(name));
    expect(headsOf(text("told.txt"))).toEqual(causes.map(({ finding }) => finding.node.name));
  });

  it("gives the same reasons and is as sure of them", async () => {
    const { causes } = (await page()).answer;
    for (const [place, { finding }] of causes.entries()) {
      const other = told()[place];
      expect(finding.reasons.map((reason) => parts(reasonSentence(t, reason)))).toEqual(other?.reasons.map(parts));
      expect(certaintyText(t, finding.certainty ?? null)).toBe(other?.certainty?.text);
      for (const sentence of [...(other?.reasons ?? []), other?.certainty?.text ?? ""]) {
        expect(text("told.txt")).toContain(`   ${sentence}\n`);
      }
      const shown = [...finding.reasons.map((reason) => reasonSentence(t, reason)), other?.certainty?.text ?? ""].map(closed);
      for (const sentence of shown) expect(closed(plain(text("report.html")))).toContain(sentence);
      if (place === 0) for (const sentence of [shown[0], shown.at(-1)]) expect(closed(written(text("slide.en.svg")))).toContain(sentence);
    }
  });

  it("has the same line of code everywhere", async () => {
    const { causes } = (await page()).answer;
    for (const [place, cause] of causes.entries()) {
      const [frame, source] = [modelFrame(cause.stack ?? []), told()[place]?.source];
      expect([frame?.file, frame?.number, frame?.scope, frame?.code]).toEqual([source?.file, source && String(source.line), source?.function, source?.code]);
      if (!source) continue;
      expect(text("told.txt")).toContain(`File ${source.file}, line ${source.line}, in ${source.function}, ${source.code}`);
      if (place === 0) expect(written(text("slide.en.svg"))).toContain(`${source.file.split("/").at(-1) ?? ""}:${source.line} in ${source.function}`);
    }
  });

  it("begins in the same place on page, slide and report, in both languages", async () => {
    const [cause] = (await page()).answer.causes;
    const i18n = createI18n();
    for (const language of ["en", "zh"] as const) {
      await changeLanguage(i18n, language);
      const slide = written(text(`slide.${language}.svg`));
      if (cause === undefined) continue;
      expect(beginsText(i18n.t, cause)).not.toContain("DefaultModel");
      expect(slide).toContain(beginsText(i18n.t, cause));
    }
    if (cause !== undefined) expect(plain(text("report.html"))).toContain(beginsText(t, cause));
  });

  it("counts the same nodes that trace back to it", async () => {
    const { answer, ask } = await page();
    for (const [place, cause] of answer.causes.entries()) {
      const other = told()[place];
      const shares = await ask<DivergentShares>("pairs/0/0/shares");
      const own = shares.causes.filter(({ node }) => cause.nodes.includes(node));
      expect([sum(own.map(({ count }) => count)), sum(own.map(({ perhaps }) => perhaps)), shares.divergent]).toEqual([other?.propagated_to, other?.perhaps, other?.divergent]);
      expect([cause.finding.propagated_to, cause.finding.perhaps, cause.finding.divergent]).toEqual([other?.propagated_to, other?.perhaps, other?.divergent]);
      const listed = await ask<NodeList>(`pairs/0/0/divergent?cause=${cause.nodes.join(".")}&offset=0&limit=500`);
      expect(listed.total).toBe(other?.propagated_to);
      if (place === 0 && (other?.divergent ?? 0) > 0) expect(written(text("slide.en.svg"))).toContain(reachOf(cause));
    }
  });

  it("leads the same ways back", async () => {
    const { ask } = await page();
    const ways = Object.entries(JSON.parse(text("ways.json")) as Record<string, string>);
    expect(ways.length > 0).toBe(told().some(({ propagated_to: count }) => count > 0));
    for (const [node, way] of ways) {
      const { hops, finding } = await ask<PlacedTrace>(`nodes/${node}/trace`);
      const lines = way.split("\n").slice(1, hops.length + 1);
      expect(lines.map((line) => hops.find(({ name: hop }) => line.split(/\s+/).includes(hop))?.name)).toEqual(hops.map(({ name: hop }) => hop));
      if (finding !== null) expect(way).toContain(`there begins finding ${finding}: `);
    }
  });
});

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

function reachOf({ finding: { propagated_to: count, divergent } }: Cause): string {
  return count === divergent && count > 1 ? `all ${count} divergent nodes there` : `${count} of ${divergent ?? 0} divergent nodes there`;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}

/** What a picture says, its lines joined. */
function written(svg: string): string {
  return [...svg.matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map(([, line = ""]) => plain(line)).join(" ");
}

function plain(html: string): string {
  return html.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"').replaceAll("&#x27;", "'").replaceAll("&amp;", "&");
}
