/* Starts the worker that lays boxes out. A page in one file has `nolayoutworker.ts` in its place. */

/** The worker, null where the page may have none. */
export function startLayoutWorker(): Worker | null {
  try {
    return new Worker(new URL("./layout.worker.ts", import.meta.url), { type: "module" });
  } catch {
    return null; // a frame may forbid workers
  }
}
