/* Builds a comparison from dumps below the log folders: choose, start, watch, cancel, open. */

import { useQuery } from "@tanstack/react-query";
import type { TFunction } from "i18next";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";

import { dumpsQuery } from "../../api/queries";
import type { BuildRequest, BuildWish, DumpEntry } from "../../api/types";
import { useBuild } from "../../hooks/useBuild";
import { useApp } from "../../state/store";
import { BuildProgress } from "./BuildProgress";
import { Command } from "../parts/Command";
import { FailureNotice } from "../parts/FailureNotice";

const CHOICES_KEY = "tb_graph_ascend.build";

const EMPTY: BuildRequest = {
  problem: "",
  benchmark: null,
  output: null,
  overflow_check: false,
  fuzzy_match: false,
  threshold: null,
  layer_mapping: null,
  manual_mapping: null,
};

export function BuildForm() {
  const { t } = useTranslation();
  const dumps = useQuery(dumpsQuery());
  const filled = useApp((state) => state.wish);
  const [wish, setWish] = useState<BuildRequest>(() => startingWish(filled));
  const db = useApp((state) => state.db);
  const { build, error, start, cancel } = useBuild();
  useStartAtOnce(dumps.data !== undefined, () => void start({ ...wish, result: db }));
  if (dumps.isError) {
    return <FailureNotice error={dumps.error} retry={() => void dumps.refetch()} />;
  }
  if (!dumps.data) return <p className="message">{t("loading")}</p>;
  const running = build?.state === "running";
  const change = (part: Partial<BuildRequest>): void => setWish({ ...wish, ...part });
  return (
    <form
      className="build-form"
      onSubmit={(event) => {
        event.preventDefault();
        rememberChoices(wish);
        void start(filled ? { ...wish, result: db } : wish);
      }}
    >
      {filled && filled.outside.length > 0 && (
        <>
          <p className="warning">{t("build.outside", { paths: filled.outside.join(", ") })}</p>
          <Command text={filled.command} />
        </>
      )}
      {dumps.data.dumps.length === 0 && wish.problem === "" && <p className="warning">{t("build.noDumps")}</p>}
      <fieldset disabled={running}>
        <DumpChoice
          label={t("side.problem")}
          dumps={dumps.data.dumps}
          value={wish.problem}
          change={(problem) => change({ problem })}
          empty={t("build.choose")}
        />
        <DumpChoice
          label={t("side.benchmark")}
          dumps={dumps.data.dumps}
          value={wish.benchmark ?? ""}
          change={(benchmark) => change({ benchmark: benchmark || null })}
          empty={t("build.single")}
        />
        <Field label={t("build.output")}>
          <select
            value={wish.output ?? ""}
            onChange={({ target }) => change({ output: target.value || null })}
          >
            {folders(dumps.data.outputs, wish.output ?? null).map((folder, index) => (
              <option key={folder} value={index === 0 ? "" : folder}>
                {folder}
              </option>
            ))}
          </select>
        </Field>
        <Options wish={wish} change={change} />
      </fieldset>
      {error !== null && <FailureNotice error={error} retry={() => void start(wish)} />}
      {build && <BuildProgress build={build} />}
      <div className="toolbar plain end">
        {running && (
          <button type="button" className="button" onClick={() => void cancel()}>
            {t("build.cancel")}
          </button>
        )}
        <StartButton disabled={running || wish.problem === ""} next={filled !== null} />
      </div>
    </form>
  );
}

/** Start what was asked for with one click, once, where all paths of the form are there. */
function useStartAtOnce(ready: boolean, start: () => void): void {
  const { buildAtOnce, wish, set } = useApp();
  useEffect(() => {
    if (!ready || !buildAtOnce) return;
    set({ buildAtOnce: false });
    if (wish?.problem && wish.outside.length === 0) start();
  });
}

/** Of a form that is filled in already it is the next thing to press. */
function StartButton({ disabled, next }: { disabled: boolean; next: boolean }) {
  const { t } = useTranslation();
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (!next) return;
    // The dialog, when it opens after this, gives the focus to what has this attribute.
    button.current?.setAttribute("autofocus", "");
    button.current?.focus();
  }, [next]);
  return (
    <button type="submit" ref={button} className="button primary" disabled={disabled}>
      {t("build.start")}
    </button>
  );
}

/** What the form starts from: the result to be built again, else what was chosen the last time. */
function startingWish(filled: BuildWish | null): BuildRequest {
  if (filled) {
    const { problem, benchmark, output, overflow_check, fuzzy_match, threshold } = filled;
    const { layer_mapping, manual_mapping } = filled;
    const options = { overflow_check, fuzzy_match, threshold, layer_mapping, manual_mapping };
    return { problem: problem ?? "", benchmark, output, ...options };
  }
  return { ...EMPTY, ...recalledChoices() };
}

type Choices = Pick<BuildRequest, "overflow_check" | "fuzzy_match" | "threshold">;

function recalledChoices(): Choices {
  try {
    return JSON.parse(window.localStorage.getItem(CHOICES_KEY) ?? "{}") as Choices;
  } catch {
    return {}; // storage may be forbidden in a frame
  }
}

function rememberChoices({ overflow_check, fuzzy_match, threshold = null }: BuildRequest): void {
  try {
    window.localStorage.setItem(CHOICES_KEY, JSON.stringify({ overflow_check, fuzzy_match, threshold }));
  } catch {
    // Forbidden storage costs the memory of the choice, nothing else.
  }
}

/** The folders that a result may go to, with that of the result to be built again. */
function folders(offered: readonly string[], wanted: string | null): string[] {
  return wanted === null || offered.includes(wanted) ? [...offered] : [...offered, wanted];
}

interface OptionProps {
  wish: BuildRequest;
  change: (part: Partial<BuildRequest>) => void;
}

function Options({ wish, change }: OptionProps) {
  const { t } = useTranslation();
  return (
    <>
      <label className="check">
        <input
          type="checkbox"
          checked={wish.overflow_check ?? false}
          onChange={({ target }) => change({ overflow_check: target.checked })}
        />
        {t("build.overflow")}
      </label>
      <label className="check">
        <input
          type="checkbox"
          checked={wish.fuzzy_match ?? false}
          onChange={({ target }) => change({ fuzzy_match: target.checked })}
        />
        {t("build.fuzzy")}
      </label>
      <Field label={t("build.threshold")}>
        <input
          type="number"
          min={0}
          max={1}
          step={0.05}
          placeholder="0.25"
          value={wish.threshold ?? ""}
          onChange={({ target }) =>
            change({ threshold: target.value === "" ? null : Number(target.value) })
          }
        />
      </Field>
      <Field label={t("build.layerMapping")}>
        <input
          value={wish.layer_mapping ?? ""}
          placeholder="mapping.yaml"
          onChange={({ target }) => change({ layer_mapping: target.value || null })}
        />
      </Field>
      <Field label={t("build.manualMapping")}>
        <input
          value={wish.manual_mapping ?? ""}
          placeholder="graph.mapping.json"
          onChange={({ target }) => change({ manual_mapping: target.value || null })}
        />
      </Field>
    </>
  );
}

interface DumpProps {
  label: string;
  dumps: DumpEntry[];
  value: string;
  empty: string;
  change: (path: string) => void;
}

function DumpChoice({ label, dumps, value, empty, change }: DumpProps) {
  const { t } = useTranslation();
  return (
    <Field label={label}>
      <select value={value} onChange={({ target }) => change(target.value)}>
        <option value="">{empty}</option>
        {value !== "" && dumps.every(({ path }) => path !== value) && <option value={value}>{value}</option>}
        {dumps.map(({ path, steps, ranks }) => (
          <option key={path} value={path}>
            {path} · {contents(t, steps.length, ranks.length)}
          </option>
        ))}
      </select>
    </Field>
  );
}

function contents(t: TFunction, steps: number, ranks: number): string {
  return t("build.contents", { steps: t("build.steps", { count: steps }), ranks: t("build.ranks", { count: ranks }) });
}

function Field({ label, children }: { label: string; children: ReactNode }) {
  return (
    <label className="field">
      <span>{label}</span>
      {children}
    </label>
  );
}
