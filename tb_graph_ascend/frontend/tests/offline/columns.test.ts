/* Columns of records unpack to what they were packed of: the cases are those of the packer's own test. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";

import { describe, expect, it } from "vitest";

import { type RecordColumn, cellsOf } from "../../src/offline/columns";

interface Case {
  name: string;
  cells: unknown[];
  column: RecordColumn;
}

const FILE = resolve(import.meta.dirname, "../../../../tests/tb_graph_ascend/offline/columns.json");
const CASES = JSON.parse(readFileSync(FILE, "utf8")) as Case[];

describe("cellsOf", () => {
  it.each(CASES)("unpacks $name", ({ cells, column }) => {
    expect(cellsOf(column)).toEqual(cells);
  });
});
