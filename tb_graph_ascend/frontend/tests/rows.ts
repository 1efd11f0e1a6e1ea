/* Rows for tests: one that says only what a test is about. */

import type { DiffRow, RowWindow } from "../src/api/types";

export function row(change: Partial<DiffRow> = {}): DiffRow {
  const key = change.key ?? 1;
  const side = { id: key, name: `Torch.op.${key}.forward`, title: "op", detail: "Torch", call: key, overflow: null, overflow_below: null, until: "", output: null, calls: 0 };
  return {
    key,
    at: key,
    span: 1,
    depth: 1,
    children: 0,
    open: false,
    fold: 0,
    kind: "api",
    direction: "forward",
    micro_step: 0,
    problem: side,
    benchmark: { ...side, id: key + 1000 },
    word: "agrees",
    inside: false,
    score: 0,
    input_score: 0,
    worst_below: null,
    divergent_below: 0,
    alone_below: 0,
    verdict: null,
    overflow: null,
    source: null,
    ...change,
  };
}

export function windowOf(rows: DiffRow[], change: Partial<RowWindow> = {}): RowWindow {
  return {
    total: rows.length,
    offset: 0,
    rows,
    above: [],
    rails: [],
    bins: [0, rows.length],
    found: null,
    opened: "",
    ...change,
  };
}
