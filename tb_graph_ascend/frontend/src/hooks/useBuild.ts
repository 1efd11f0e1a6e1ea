/* A running build: started here, followed by server-sent events, opened when it is done. */

import { useCallback, useEffect, useState } from "react";
import { useTranslation } from "react-i18next";

import { RequestError, address, api } from "../api/client";
import { queryClient } from "../api/queries";
import type { Build, BuildRequest, Databases } from "../api/types";
import { openDatabase } from "../state/actions";
import { useApp } from "../state/store";

export function useBuild() {
  const { t } = useTranslation();
  const [build, setBuild] = useState<Build | null>(null);
  const [error, setError] = useState<unknown>(null);
  const job = build?.id;
  const running = build?.state === "running";

  useEffect(() => {
    void api.builds().then(({ builds }) => {
      const current = builds.find(({ state }) => state === "running");
      if (current) setBuild(current);
    }, setError);
  }, []);

  useEffect(() => {
    if (job === undefined || !running) return undefined;
    const events = new EventSource(address(`builds/${encodeURIComponent(job)}/events`));
    events.addEventListener("message", ({ data }: MessageEvent<string>) => {
      const now = JSON.parse(data) as Build;
      setBuild(now);
      if (now.state !== "running") events.close();
      if (now.state === "done") void openResult(now);
    });
    // A server that was started anew knows nothing of the build, and ends the stream for good.
    events.addEventListener("error", () => {
      void stateOf(job).then((now) => {
        if (now === "gone") setBuild((known) => known && { ...known, state: "failed", running: [], error: t("build.lost") });
        if (now === "gone") events.close();
      });
    });
    return () => events.close();
  }, [job, running, t]);

  const start = useCallback(async (wish: BuildRequest) => {
    setError(null);
    try {
      setBuild(await api.startBuild(wish));
    } catch (problem) {
      setError(problem);
    }
  }, []);
  const cancel = useCallback(async () => {
    if (job === undefined) return;
    try {
      const ended = await api.cancelBuild(job);
      // Its processes take a moment to end; another build may be under way by then.
      setBuild((now) => (now?.id === ended.id ? ended : now));
    } catch (problem) {
      setError(problem);
    }
  }, [job]);
  return { build, error, start, cancel };
}

/** Whether the server still knows of a build; null where it cannot be asked. */
async function stateOf(job: string): Promise<"known" | "gone" | null> {
  try {
    await api.build(job);
    return "known";
  } catch (error) {
    return error instanceof RequestError && error.status === 404 ? "gone" : null;
  }
}

async function openResult({ database }: Build): Promise<void> {
  if (database === null) {
    await queryClient.invalidateQueries(LISTED);
    return;
  }
  await listed(database);
  useApp.getState().set({ dialog: null });
  await openDatabase(database);
}

const LISTED = { queryKey: ["databases"] };
/** The server looks at its folders every other second. */
const LISTING_TRIES = 10;
const LISTING_MS = 300;

/** Wait until the list has a new file: one that is open and not in the list is said to be gone. */
async function listed(database: string): Promise<void> {
  for (let tries = 0; tries < LISTING_TRIES; tries += 1) {
    await queryClient.invalidateQueries(LISTED);
    const list = queryClient.getQueryData<Databases>(LISTED.queryKey);
    if (list?.databases.some(({ id }) => id === database)) return;
    await new Promise((next) => setTimeout(next, LISTING_MS));
  }
}
