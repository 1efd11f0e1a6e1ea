/* Any address leads to a page: what cannot be read is left out. */
import { afterEach, describe, expect, it, vi } from "vitest";

import { readAddress } from "../../src/state/addressbar";

afterEach(() => vi.unstubAllGlobals());

describe("an address inside TensorBoard", () => {
  it.each([
    ["db%3Dx%26step%3D0", "db=x&step=0"],
    ["db%3Dx%", ""],
    ["%E0%A4%A", ""],
    ["", ""],
  ])("is read as far as it can be: %s", (text, query) => {
    const host = {
      document: { querySelector: () => ({}) },
      location: { hash: `#tb_graph_ascend&p.tb_graph_ascend.view=${text}` },
    };
    vi.stubGlobal("window", { parent: host, location: { search: "" } });
    expect(readAddress()).toBe(query);
  });
});
