/* The line of code a cause stands on, and numbers of the values table. */
import { describe, expect, it } from "vitest";

import type { AcrossCell, Cause, Node, NodeDetails, PlacedHop, Side } from "../../src/api/types";
import { changeLanguage, createI18n } from "../../src/i18n/setup";
import { relativeError } from "../../src/text/numbers";
import {
  callText,
  causeOnAnotherRank,
  causeAt,
  causeScoreText,
  causeText,
  historyText,
  isElsewhere,
  isGivenWorse,
  ledBackTo,
  reachText,
  leadsToText,
  noSeriesText,
  perhapsFrom,
  placeText,
  placesText,
  reasonsByPlace,
  sameLine,
  scoreWith,
  senderTo,
  sideOfName,
  unnamedCalls,
  unscoredText,
  withoutLayout,
  withoutLostGradients,
  withoutNeighbours,
  withoutValuesText,
} from "../../src/state/causes";

describe("ledBackTo", () => {
  const { t } = createI18n();
  const cause = { nodes: [7, 70], finding: { step: 0 } } as Cause;
  const shares = { divergent: 101, causes: [{ node: 70, count: 50, perhaps: 0 }], others: 51, perhaps: 0, ahead: 0, earlier: 0, earlier_step: null, came: null, again: null };
  it("adds up what goes back to all of its places on screen, and to no other cause", () => {
    const both = { divergent: 101, causes: [{ node: 7, count: 20, perhaps: 0 }, { node: 8, count: 1, perhaps: 0 }, { node: 70, count: 50, perhaps: 0 }], others: 30, perhaps: 0, ahead: 0, earlier: 0, earlier_step: null, came: null, again: null };
    expect(ledBackTo(t, cause, both)).toEqual({ nodes: [7, 70], text: "70 of 101 divergent nodes in this step trace back to it (each node counts for one cause)" });
  });
  it("says of how many divergent nodes on screen, wherever the cause is", () => {
    expect(ledBackTo(t, cause, shares)).toEqual({ nodes: [70], text: "50 of 101 divergent nodes in this step trace back to it" });
  });
  it("says in Chinese that all trace back to it", async () => {
    const i18n = createI18n();
    await changeLanguage(i18n, "zh");
    expect(ledBackTo(i18n.t, cause, { ...shares, divergent: 50, others: 0 })?.text).toBe("本步中全部 50 个有差异的节点都可追溯到它");
  });
  it("says how many more trace back to it perhaps", () => {
    const guessed = { ...shares, causes: [{ node: 70, count: 50, perhaps: 3 }], others: 48, perhaps: 3 };
    expect(ledBackTo(t, cause, guessed)?.text).toBe("50 of 101 divergent nodes in this step trace back to it, 3 more perhaps");
  });
  it("is no surer of what came through weights than of the step before", () => {
    const later = { ...shares, others: 8, perhaps: 3, causes: [{ node: 70, count: 50, perhaps: 3 }], earlier: 40, earlier_step: 0 };
    const guessed = { ...cause, finding: { ...cause.finding, perhaps: 43 } } as Cause;
    expect(ledBackTo(t, guessed, later, true)?.text).toBe("50 of 101 divergent nodes in this step trace back to it, 43 more perhaps, 40 of them through the weights of step 0");
  });
  it("adds what came through weights to the one cause of a file, and to none of several", () => {
    const later = { ...shares, others: 11, earlier: 40, earlier_step: 0 };
    expect(ledBackTo(t, cause, later, true)?.text).toBe("90 of 101 divergent nodes in this step trace back to it, 40 of them through the weights of step 0");
    const none = "50 of 101 divergent nodes in this step trace back to it";
    expect(ledBackTo(t, cause, later)?.text).toBe(`${none}; 40 go through the weights of step 0 and count for no single cause`);
    expect(ledBackTo(t, { ...cause, finding: { step: 1 } } as Cause, later, true)?.text).toBe(none);
  });
  it("says nothing where the cause is not on screen, or nothing diverges", () => {
    expect(ledBackTo(t, cause, { ...shares, causes: [] })).toBeNull();
    expect(ledBackTo(t, cause, undefined)).toBeNull();
    expect(ledBackTo(t, cause, { divergent: 0, causes: [{ node: 7, count: 0, perhaps: 0 }], others: 0, perhaps: 0, ahead: 0, earlier: 0, earlier_step: null, came: null, again: null })).toBeNull();
  });
});

describe("reachText", () => {
  const { t } = createI18n();
  const reach = (step: number, divergent: number | null, perhaps: number | null = 0): string | null => {
    const finding = { step: 0, rank: 0, propagated_to: 8, perhaps, divergent, places: [{ step, rank: 0, node: 9, name: "x" }] };
    return reachText(t, { finding } as unknown as Cause);
  };
  it("adds up over the steps and ranks of a cause", () => {
    expect(reach(1, 11)).toBe("8 of 11 divergent nodes in all its steps and ranks trace back to it");
    expect(reach(1, 11, 2)).toBe("8 of 11 divergent nodes in all its steps and ranks trace back to it, 2 more perhaps");
  });
  it("says nothing of a cause in one, nor where nobody counted", () => {
    expect(reach(0, 11)).toBeNull();
    expect(reach(1, null, null)).toBeNull();
  });
});

describe("calls that one run alone makes", () => {
  const call = (name: string, side: "problem" | "benchmark" = "problem") => ({ id: name.length, name, side }) as Node;
  it("are those that no cause names, one of many alike for all of them", () => {
    const reasons = [{ code: "extra_replaced", names: "Tensor.add.0.forward", instead: "Tensor.mul_.0.forward" }];
    const causes = [{ finding: { node: call("Tensor.add.0.forward"), reasons } }] as unknown as Cause[];
    const alone = ["Tensor.add.7.forward", "Tensor.mul_.3.forward", "Tensor.tanh.0.forward"].map((name) => call(name));
    expect(unnamedCalls(causes, alone).map(({ name }) => name)).toEqual(["Tensor.tanh.0.forward"]);
    expect(unnamedCalls([], alone)).toHaveLength(3);
  });
  it("are none that both runs make equally often: those were renamed", () => {
    const both = [call("Tensor.lerp_.7.forward"), call("Tensor.lerp_.7.forward", "benchmark"), call("Tensor.tanh.0.forward")];
    expect(unnamedCalls([], both).map(({ name }) => name)).toEqual(["Tensor.tanh.0.forward"]);
  });
});

describe("an update that one run alone makes", () => {
  const cutting = (attribute: string) => [{ finding: { reasons: [{ code: "attribute_differs", attribute }] } }] as unknown as Cause[];
  const row = (name: string, module: string | null, direction: "forward" | "backward" = "forward") => ({ module, node: { name, side: "benchmark" as Side, direction } });
  it("follows from a gradient that was cut off, and from nothing else", () => {
    const rows = [row("Tensor.mul_.0.forward", "optimizer"), row("Tensor.tanh.0.forward", "layers.0")];
    const left = (causes: Cause[], more: ReturnType<typeof row>[] = []) => withoutLostGradients(causes, [...rows, ...more]).map(({ node }) => node.name);
    expect(left(cutting("requires_grad"))).toEqual(["Tensor.tanh.0.forward"]);
    expect(left(cutting("shape"))).toHaveLength(2);
    expect(left([])).toHaveLength(2);
    const lost = row("Functional.linear.0.backward", "layers.1", "backward");
    expect(left([], [lost])).toEqual(["Tensor.tanh.0.forward"]);
    expect(left([], [{ ...lost, node: { ...lost.node, side: "problem" } }])).toHaveLength(2);
  });
  it("does not follow from the gradient of a call that one run alone makes", () => {
    const rows = [row("Tensor.mul_.0.forward", "optimizer"), row("Tensor.tanh.0.forward", null), row("Tensor.tanh.0.backward", null, "backward")];
    expect(withoutLostGradients([], rows).map(({ node }) => node.name)).toEqual(["Tensor.mul_.0.forward", "Tensor.tanh.0.forward"]);
  });
});

describe("an update of what one run alone calls", () => {
  const cause = (code: string) => [{ finding: { reasons: [{ code, names: "Module.norm.LayerNorm.forward.0" }] } }] as unknown as Cause[];
  it("follows from that", () => {
    const rows = [{ module: "optimizer", node: { name: "Tensor.add_.2.forward", side: "benchmark" as Side, direction: "forward" as const } }];
    expect(withoutLostGradients(cause("missing_calls"), rows)).toEqual([]);
    expect(withoutLostGradients(cause("extra_calls"), rows)).toHaveLength(1);
  });
});

describe("what a parallel layout calls", () => {
  const row = (name: string, match_reason: string | null) => ({ node: { name, match_reason } });
  it("is no other cause, what the model calls is", () => {
    const rows = [row("Tensor.view_as.0.forward", "layout"), row("Tensor.tanh.0.forward", null), row("Tensor.mul.0.forward", "no partner")];
    expect(withoutLayout(rows).map(({ node }) => node.name)).toEqual(["Tensor.tanh.0.forward", "Tensor.mul.0.forward"]);
  });
});

describe("what stands in one run of calls with those that a cause names", () => {
  const causes = [{ finding: { reasons: [{ code: "missing_calls", names: "Torch.ones.1.forward, Tensor.__truediv__.1.forward" }] } }] as unknown as Cause[];
  const row = (id: number, name: string) => ({ node: { id, name, side: "benchmark" as Side } });
  it("is one change with them, whether or not there was room to name it", () => {
    const run = [row(4, "Torch.zeros.3.forward"), row(5, "Torch.ones.1.forward"), row(6, "Tensor.clamp.1.forward"), row(7, "Tensor.__truediv__.1.forward")];
    expect(withoutNeighbours(causes, [row(2, "Torch.sin.0.forward"), ...run]).map(({ node }) => node.id)).toEqual([2]);
  });
  it("are what ranks lack that hold unlike values, with what the benchmark does around it", () => {
    const unlike = [{ finding: { reasons: [{ code: "ranks_conflict" }] } }] as unknown as Cause[];
    const sent = ["Distributed.all_reduce.0.forward", "Tensor.__div___.0.forward"].map((name, at) => row(5 + at, name));
    const left = (side: string) => withoutNeighbours(unlike, sent.map(({ node }) => ({ node: { ...node, side } })) as typeof sent).length;
    expect([left("benchmark"), left("problem")]).toEqual([0, 2]);
  });
});

describe("a call on the line of a cause", () => {
  const line = (number: number) => [`File /job/model.py, line ${number}, in backward, return g`];
  const causes = [{ stack: line(60), stack_there: line(61) }] as unknown as Cause[];
  const at = (problem: string[] | null, benchmark: string[] | null) => ({ stack: { problem, benchmark } }) as NodeDetails;
  it("is a part of that fault, whichever run makes it", () => {
    expect(sameLine(causes, at(line(60), null))).toBe(true);
    expect(sameLine(causes, at(null, line(61)))).toBe(true);
    expect(sameLine(causes, at(line(100), null))).toBe(false);
    expect(sameLine(causes, at(null, null))).toBe(false);
    expect(sameLine(causes, undefined)).toBe(false);
  });
  it("is one beside it in a helper, and not in a function that is entered from many places", () => {
    const inside = (scope: string, number: number) => [`File /job/model.py, line ${number}, in ${scope}, return g`];
    const of = (scope: string) => [{ stack: inside(scope, 60), stack_there: null }] as unknown as Cause[];
    expect(sameLine(of("rotate"), at(inside("rotate", 59), null))).toBe(true);
    expect(sameLine(of("rotate"), at(inside("rotate", 57), null))).toBe(false);
    expect(sameLine(of("rotate"), at(inside("turned", 59), null))).toBe(false);
    expect(sameLine(of("forward"), at(inside("forward", 59), null))).toBe(false);
  });
});

describe("the run of a name in a reason", () => {
  const of = (code: string) => ({ finding: { reasons: [{ code, names: "Tensor.add.0.forward", instead: "Tensor.mul_.0.forward" }] } }) as unknown as Cause;
  it("is the one that alone makes it, of the other call the other one", () => {
    expect(sideOfName(of("extra_replaced"), "Tensor.add.0.forward")).toBe("problem");
    expect(sideOfName(of("extra_replaced"), "Tensor.mul_.0.forward")).toBe("benchmark");
    expect(sideOfName(of("missing_replaced"), "Tensor.add.0.forward")).toBe("benchmark");
    expect(sideOfName(of("missing_replaced"), "Tensor.mul_.0.forward")).toBe("problem");
    expect(sideOfName(of("extra_calls"), "Functional.softmax.2.forward")).toBe("problem");
  });
});

describe("the rank that a difference came from", () => {
  const details = (input: number, ...peers: (number | null)[]) =>
    ({
      node: { score: 0.9, input_score: input },
      communication: peers.map((score, rank) => ({ peer_rank: rank, peer_input_score: score })),
    }) as unknown as NodeDetails;
  it("is the one whose part differs most, where this one's agrees", () => {
    expect(senderTo(details(0, 0.3, 0.9, null), 0.25)?.peer_rank).toBe(1);
    expect(senderTo(details(0.4, 0.9), 0.25)).toBeNull();
    expect(senderTo(details(0, 0.1, null), 0.25)).toBeNull();
    expect(senderTo(details(0), 0.25)).toBeNull();
  });
});

describe("what differs, in words", () => {
  const { t } = createI18n();
  const said = (...reasons: object[]) => causeText(t, { finding: { kind: "input_differs", step: 0, node: {}, reasons } } as unknown as Cause);
  const differs = { code: "checksum_differs", value: "output.0" };
  it("names the call that makes the first NaN behind it, or that it does so itself", () => {
    expect(said(differs)).toBe("output.0: the checksums differ");
    const follows = { code: "nonfinite_follows", value: "output.0", state: "NaN", maker: "Functional.softmax.2.forward" };
    expect(said(differs, follows)).toBe("output.0: the checksums differ; softmax #2 makes the first NaN of step 0");
    expect(said(differs, { ...follows, code: "nonfinite_first", maker: undefined })).toContain("; it makes the first NaN");
  });
  it("names the step of the finding, whichever is on screen", () => {
    const finding = { kind: "input_differs", step: 7, node: {}, reasons: [differs, { code: "nonfinite_first", value: "output.0", state: "NaN" }] };
    expect(causeText(t, { finding } as unknown as Cause)).toMatch(/makes the first NaN of step 7$/);
  });
});

describe("the name and score of a cause", () => {
  const { t } = createI18n();
  const node = { name: "Functional.linear.7.backward", kind: "api", label: "linear", direction: "backward", match: 3 };
  const cause = { finding: { node, score: 0.5 }, worst: 0.5, call: 7 } as unknown as Cause;
  it("bear the mark of what ran backward, and the word", () => {
    expect(callText(t, cause)).toBe("linear #7 ↩ backward");
  });
  it("say whose score it is where the call has no partner", () => {
    expect(causeScoreText(t, cause)).toBe("score 0.50");
    const alone = { finding: { node: { ...node, match: null }, score: 0.5 }, worst: 0.5 } as unknown as Cause;
    expect(causeScoreText(t, alone)).toBe("score 0.50: that of what comes of it, where a call of both runs first reads that");
  });
  it("say what is brought about where the call itself hands on nothing that differs", () => {
    const silent = { ...cause, finding: { node, score: 0, reasons: [] }, worst: 0.9 } as unknown as Cause;
    expect(causeScoreText(t, silent)).toBe("score 0.90: the worst of what follows from it");
    expect([cause, silent].map((one) => leadsToText(t, one))).toEqual([null, "leads to 0.90"]);
    expect(leadsToText(t, { ...cause, finding: { node, score: null } } as unknown as Cause)).toBe("leads to 0.50");
    expect(withoutValuesText(t, silent)).toMatch(/^Of linear #7 ↩ backward no numbers of tensors were recorded/);
    const reasons = [{ code: "handed_on", value: "input.0", reader: "Functional.softmax.2.forward" }];
    const seen = { ...silent, finding: { ...silent.finding, reasons } } as unknown as Cause;
    expect(withoutValuesText(t, seen)).toMatch(/first seen behind it, in softmax #2\.$/);
  });
});

describe("a cause and what is on screen", () => {
  const { t } = createI18n();
  const place = (step: number, rank: number, node: number) => ({ step, rank, node, name: "Tensor.__mul__.70.forward" });
  const cause = {
    ranks: [6],
    finding: { node: { side: "problem", name: "Tensor.__mul__.70.forward" } },
    places: [place(0, 6, 7), place(0, 6, 8), place(1, 6, 9)],
    nodes: [7, 8, 9],
    place_count: 3,
  } as unknown as Cause;
  it("are told apart: places on screen and in all steps and ranks, where all are known", () => {
    expect(placesText(t, cause, { step: 0, rank: 6 })).toBe("in 2 places in this step, 3 in all steps and ranks");
    const onTwo = { ...cause, ranks: [6, 7] };
    expect(placesText(t, onTwo, { step: 1, rank: 6 })).toBe("in 1 place in this step and rank, 3 in all steps and ranks");
    expect(placesText(t, cause, { step: 0, rank: 0 })).toBe("in 3 places");
    expect(placesText(t, { ...cause, place_count: 400 }, { step: 0, rank: 6 })).toBe("in 400 places");
  });
  it("says that it is not on the rank on screen, and where the same call is one", () => {
    expect([isElsewhere(cause, 0), isElsewhere(cause, 6), isElsewhere(cause, null)]).toEqual([true, false, false]);
    const same = { id: 3, name: "Tensor.__mul__.70.forward", side: "problem" } as const;
    expect(causeOnAnotherRank([cause], same, 0)).toMatchObject({ step: 0, rank: 6, node: 7 });
    expect(causeOnAnotherRank([cause], { ...same, id: 8 }, 6)).toBeUndefined();
    expect(causeOnAnotherRank([cause], { ...same, side: "benchmark" }, 0)).toBeUndefined();
  });
});

describe("the places of a cause", () => {
  const { t } = createI18n();
  const cause = (kind: string, name: string, label: string) => ({ finding: { node: { kind, name, label } } }) as Cause;
  const at = { step: 1, rank: 0, node: 5 };
  it("say their module and call, for many are in one step and rank", () => {
    const call = cause("api", "Torch.cos.0.forward", "cos");
    const place = { ...at, name: "Torch.cos.3.forward", module: "layers.3.attn" };
    expect(placeText(t, call, place)).toBe("layers.3.attn › cos #3 · step 1 · rank 0");
    expect(placeText(t, call, { ...place, module: null })).toBe("cos #3 · step 1 · rank 0");
    const backward = { ...place, name: "Torch.cos.3.backward" };
    expect(placeText(t, call, backward)).toBe("layers.3.attn › cos #3 ↩ · step 1 · rank 0");
  });
  it("have each its own name, whatever call the cause is", () => {
    const call = cause("api", "Tensor.mul_.1.forward", "mul_");
    const place = { ...at, name: "Tensor.addcdiv_.38.forward", module: "optimizer" };
    expect(placeText(t, call, place)).toBe("optimizer › addcdiv_ #38 · step 1 · rank 0");
    expect(placeText(t, call, { ...place, name: "Module.layers.3.Block.forward.0", module: "layers.3" })).toBe("layers.3 · step 1 · rank 0");
  });
  it("are modules themselves", () => {
    const module = cause("module", "Module.layers.0.Block.forward.0", "layers.0");
    const place = { ...at, name: "Module.layers.3.Block.forward.0", module: "layers.3" };
    expect(placeText(t, module, place)).toBe("layers.3 · step 1 · rank 0");
    const calls = ["forward.1", "forward.2", "backward.2"].map((call) => placeText(t, module, { ...place, name: `Module.layers.3.Block.${call}` }));
    expect(calls).toEqual(["layers.3 #1", "layers.3 #2", "layers.3 #2 ↩"].map((told) => `${told} · step 1 · rank 0`));
  });
});

describe("the history of a cause", () => {
  const cause = (ranks: number[], first: number, last: number, found = first) =>
    ({ ranks, first_step: first, last_step: last, finding: { step: found, rank: ranks[0] } }) as unknown as Cause;
  it("is one for causes of the same steps and ranks, in however many places they are", () => {
    const { t } = createI18n();
    expect(historyText(t, { ...cause([0], 0, 0), place_count: 1 })).toBe("step 0 · rank 0");
    expect(historyText(t, { ...cause([0], 0, 0), place_count: 2 })).toBe("step 0 · rank 0");
    expect(historyText(t, cause([0], 0, 3))).toBe("rank 0, from step 0");
    expect(historyText(t, cause([0, 1], 3, 3))).toBe("2 ranks (0–1), from step 3");
  });
  it("says from which step on values show it, where it is there before", async () => {
    const i18n = createI18n();
    expect(historyText(i18n.t, cause([0], 0, 3, 2))).toBe("rank 0, from step 0; values differ from step 2");
    await changeLanguage(i18n, "zh");
    expect(historyText(i18n.t, cause([6], 0, 3, 2))).toBe("卡 6，自第 0 步起；数值自第 2 步起不同");
    expect(historyText(i18n.t, cause([6, 7], 0, 1))).toBe("卡 6–7（共 2 张），自第 0 步起");
  });
  it("keeps what holds in every step apart from the numbers of one", () => {
    const reasons = ["argument_differs", "explained", "nonfinite_follows"].map((code) => ({ code }));
    const { everywhere, there } = reasonsByPlace({ finding: { reasons } } as unknown as Cause);
    expect(everywhere.map(({ code }) => code)).toEqual(["argument_differs"]);
    expect(there.map(({ code }) => code)).toEqual(["explained", "nonfinite_follows"]);
    expect(reasonsByPlace({ finding: { reasons: [{ code: "introduced" }] } } as unknown as Cause).everywhere).toEqual([]);
  });
});

describe("relativeError", () => {
  it("is a half for 0.09 against 0.18, and infinite only against nothing", () => {
    expect(relativeError(0.08838834764831845, 0.1767766952966369)).toBeCloseTo(0.5);
    expect(relativeError(1, 0)).toBe("inf");
    expect(relativeError(0, 0)).toBe(0);
    expect(relativeError(NaN, 1)).toBe("nan");
  });
});

describe("causeText", () => {
  const { t } = createI18n();
  it("names what stands in the place of calls without a partner", () => {
    const reasons = [{ code: "extra_replaced", names: "Torch.gelu.0.forward", instead: "Torch.silu.0.forward" }];
    expect(causeText(t, { finding: { reasons } } as unknown as Cause)).toBe(
      "the problem run calls gelu #0 where the benchmark run calls silu #0",
    );
  });
});

describe("a cause that one run alone makes", () => {
  const { t } = createI18n();
  const causes = [{ finding: { node: { id: 7 }, score: 0.98, reasons: [{ code: "extra_calls", names: "Tensor.__mul__.70.forward" }] } }] as unknown as Cause[];
  const cells = [
    { step: 0, rank: 0, node: 3, score: null },
    { step: 0, rank: 6, node: 7, score: null },
  ] as AcrossCell[];
  const alone = (side: "problem" | "benchmark") => ({ node: { side } as Node, partner: null });

  it("has the score of the cause wherever a score stands, and no other node has", () => {
    expect(cells.map((cell) => scoreWith(causes, cell))).toEqual([null, 0.98]);
    expect(scoreWith(causes, { node: 7, score: 0.5 })).toBe(0.5);
    expect(causeAt(causes, null)).toBeUndefined();
  });
  it("is named where it is a place of a cause whose score was taken elsewhere", () => {
    const placed = causes.map((one) => ({ ...one, nodes: [7, 8] }));
    const at = (node: number | null, score: number | null, handed_on: number | null = null) => unscoredText(t, placed, { node, score, handed_on });
    expect([at(8, null), at(7, null), at(8, 0.2), at(8, null, 0.2), at(3, null), at(null, null)]).toEqual(["begins", null, null, null, null, null]);
  });
  it("says over the steps whose value the score is of, and where", () => {
    expect(noSeriesText(t, alone("problem"), cells, causes)).toMatch(/^Only the problem run .* 0\.98 \(step 0, rank 6\)/);
    expect(noSeriesText(t, alone("benchmark"), cells, causes)).toMatch(/^Only the benchmark run /);
    expect(noSeriesText(t, alone("problem"), cells, [])).toMatch(/no partner in any step/);
    expect(noSeriesText(t, { node: {} as Node, partner: {} as Node }, cells, causes)).toMatch(/^No score is known/);
  });
  it("leads on for certain; behind a call that no cause names the way is a guess", () => {
    const way = (name: string, matched: boolean) =>
      [{ node: 3, name, matched, link: "start" }, { node: 9, name: "Tensor.__mul__.29.forward", matched: true, link: "cause" }] as PlacedHop[];
    expect(perhapsFrom(causes, way("Torch.tanh.0.forward", false))).toBe(1);
    expect(perhapsFrom(causes, way("Tensor.__mul__.70.backward", false))).toBe(-1);
    expect(perhapsFrom(causes, way("Torch.tanh.0.forward", true))).toBe(-1);
  });
});

describe("isGivenWorse", () => {
  it("is so where what a node is given diverges alone", () => {
    const given = (score: number | null, input_score: number | null) => isGivenWorse({ score, input_score }, 0.2);
    expect([given(0, 1), given(null, 0.9), given(0.97, 0.98), given(0, 0.1), given(0.5, null)]).toEqual([true, true, false, false, false]);
    expect(isGivenWorse({ score: 0, input_score: 1 }, undefined)).toBe(false);
  });
});
