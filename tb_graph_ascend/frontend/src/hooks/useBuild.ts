/* A running build: started here, followed by server-sent events, opened when it is done. */

import { useCallback, useEffect, useState } from "react";
import { useTranslation } from "react-i18next";

import { RequestError, address, api } from "../api/client";
import { queryClient } from "../api/queries";
import type { Build, BuildRequest } from "../api/types";
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
  await queryClient.invalidateQueries({ queryKey: ["databases"] });
  if (database === null) return;
  useApp.getState().set({ dialog: null });
  await openDatabase(database);
}
