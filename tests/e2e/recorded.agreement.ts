/* The folders below AGREEMENT, each with what `tests/e2e/outlets.py` wrote of a recorded pair: `make agreement`. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe } from "vitest";

import { saysTheSame } from "./agreement";

const folder = process.env.AGREEMENT;
if (folder === undefined) throw new Error("AGREEMENT names no folder: run `make agreement`");

const titles = new Map(readdirSync(folder).map((name) => [readFileSync(join(folder, name, "title.txt"), "utf8"), name]));

describe.each([...titles])("%s", (_, name) => {
  saysTheSame(join(folder, name));
});
