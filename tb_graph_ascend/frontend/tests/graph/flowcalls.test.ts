/* Who reads a value is told once, however often it reads it and however deep it stands. */
import { expect, it } from "vitest";

import type { FlowLink } from "../../src/api/types";
import { distinctCalls } from "../../src/graph/flowcalls";
import { node } from "../sample";

const link = (id: number, parent: number, path = "0"): FlowLink => ({ node: node({ id, parent }), path, value: id, exact: true });

it("leaves out the modules around a call, all the way up, and a second reading by the same call", () => {
  const links = [link(59, 40), link(40, 30), link(30, 2), link(59, 40, "1"), link(61, 2)];
  expect(distinctCalls(links)).toEqual([links[0], links[4]]);
});
