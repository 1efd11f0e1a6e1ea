/* Nothing of a file that was replaced or mapped elsewhere outlives it, whether the file is shown or not. */
import { beforeEach, expect, it, vi } from "vitest";

import type { DatabaseEntry } from "../../src/api/types";

const calls = vi.hoisted(() => ({ openDatabase: vi.fn(), followMappings: vi.fn(), removeQueries: vi.fn(), refreshDatabase: vi.fn() }));
vi.mock("../../src/state/actions", () => ({
  openDatabase: calls.openDatabase,
  guarded: (_: unknown, step: () => unknown) => Promise.resolve(step()),
}));
vi.mock("../../src/state/mapping", () => ({ followMappings: calls.followMappings }));
vi.mock("../../src/api/queries", () => ({
  queryClient: { removeQueries: ({ queryKey }: { queryKey: string[] }) => calls.removeQueries(queryKey[1]) as unknown },
  refreshDatabase: calls.refreshDatabase,
}));

const { useApp } = await import("../../src/state/store");
const { followFiles } = await import("../../src/state/filechanges");

const entry = (id: string, modified: number, mapped: number | null = null, error: string | null = null) =>
  ({ id, modified, size: 1, mapped, error }) as DatabaseEntry;

beforeEach(() => {
  useApp.setState({ db: "a" });
  followFiles([entry("a", 1), entry("b", 1)]);
  Object.values(calls).forEach((call) => call.mockReset());
});

it("opens the file anew that is shown, and says so", () => {
  followFiles([entry("a", 2), entry("b", 1)]);
  expect(calls.removeQueries).toHaveBeenCalledExactlyOnceWith("a");
  expect(calls.openDatabase).toHaveBeenCalledExactlyOnceWith("a", undefined, { replaced: true });
});

it("forgets what was asked of one that is not shown, and opens nothing", () => {
  followFiles([entry("a", 1), entry("b", 2)]);
  expect(calls.removeQueries).toHaveBeenCalledExactlyOnceWith("b");
  expect(calls.openDatabase).not.toHaveBeenCalled();
});

it("asks anew what another page mapped, here or elsewhere", () => {
  followFiles([entry("a", 1, 5), entry("b", 1, 6)]);
  expect(calls.followMappings).toHaveBeenCalledExactlyOnceWith("a");
  expect(calls.refreshDatabase).toHaveBeenCalledExactlyOnceWith("b");
});

it("knows a file again that could not be opened for a while", () => {
  followFiles([entry("a", 9, null, "half written"), entry("b", 1)]);
  expect(calls.removeQueries).not.toHaveBeenCalled();
  followFiles([entry("a", 10), entry("b", 1)]);
  expect(calls.removeQueries).toHaveBeenCalledExactlyOnceWith("a");
});
