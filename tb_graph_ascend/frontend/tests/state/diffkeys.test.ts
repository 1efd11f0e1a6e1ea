/* Keys go on from where the last one leads, however long the server takes to say what is there. */
import { beforeEach, expect, it, vi } from "vitest";

import { PAGE, RowPages } from "../../src/graph/rowpages";
import type { DiffView } from "../../src/state/diffview";
import { row, windowOf } from "../rows";

vi.mock("../../src/state/actions", async () => {
  const { useAhead } = await import("../../src/state/ahead");
  // The answer to where a node is stays out: it is on its way all the time.
  return { selectNode: (node: number) => useAhead.setState({ heading: { node } }) };
});
const { moveInRows } = await import("../../src/state/diffkeys");
const { nodeAhead, useAhead } = await import("../../src/state/ahead");

/** A list of two pages, of which the first is there. */
function view() {
  const pages = new RowPages();
  const rows = Array.from({ length: PAGE }, (_, key) => row({ key }));
  pages.add(windowOf(rows, { total: 2 * PAGE }));
  const come: (() => void)[] = [];
  const diff = {
    pages,
    pane: null,
    cursor: null as number | null,
    want: vi.fn(),
    setCursor: (place: number | null) => (diff.cursor = place),
    loaded: () => new Promise<void>((done) => come.push(done)),
  };
  const arrive = async (): Promise<void> => {
    pages.add(windowOf(rows.map(({ key }) => row({ key: PAGE + key })), { total: 2 * PAGE, offset: PAGE }));
    come.forEach((done) => done());
    await new Promise((done) => setTimeout(done));
  };
  return { diff: diff as unknown as DiffView, arrive };
}

beforeEach(() => {
  useAhead.setState({ heading: { node: 3 } });
});

it("moves by as many rows as the key is pressed while the first is being selected", () => {
  const { diff } = view();
  for (let press = 0; press < 4; press += 1) moveInRows("ArrowDown", diff);
  expect(nodeAhead()).toBe(7);
});

it("moves on from a row that is not there yet, and selects it once it is", async () => {
  const { diff, arrive } = view();
  useAhead.setState({ heading: { node: PAGE - 1 } });
  for (let press = 0; press < 3; press += 1) moveInRows("ArrowDown", diff);
  expect([nodeAhead(), diff.cursor]).toEqual([PAGE - 1, PAGE + 2]);
  await arrive();
  expect([nodeAhead(), diff.cursor]).toEqual([PAGE + 2, null]);
});
