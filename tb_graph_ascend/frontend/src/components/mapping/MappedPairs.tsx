/* The manual pairs: select, unmap, download, load a file. */

import { Download, Unlink, Upload } from "lucide-react";
import { useRef } from "react";
import { useTranslation } from "react-i18next";

import { api } from "../../api/client";
import type { MappedPair, Mappings } from "../../api/types";
import { download, mappingFile, readMappingFile } from "../../state/export";
import { guarded, selectNode } from "../../state/actions";
import { removeAllMappings, removeMapping, replaceMappings, useMappingWork } from "../../state/mapping";
import { useApp } from "../../state/store";
import { BreakableName } from "../parts/BreakableName";

interface PairsProps {
  mappings: Mappings;
  changeable: boolean;
}

export function MappedPairs({ mappings, changeable }: PairsProps) {
  const { t } = useTranslation();
  const { pairs, changed, saved, file } = mappings;
  return (
    <section>
      <h2>
        {t("mapping.list")}
        <span className="spacer" />
        {changeable && pairs.length > 0 && <UnmapAll pairs={pairs} />}
      </h2>
      {pairs.length === 0 ? (
        <p className="muted">{t("mapping.empty")}</p>
      ) : (
        <ul className="mapped">
          {pairs.map((pair) => (
            <MappedRow
              key={`${pair.step} ${pair.rank} ${pair.problem} ${pair.benchmark}`}
              pair={pair}
              changeable={changeable}
            />
          ))}
        </ul>
      )}
      {pairs.length > 0 && changed === 0 && <p className="muted">{t("mapping.built")}</p>}
      {changeable && !saved && <p className="warning">{t("mapping.notSaved")}</p>}
      {changeable && saved && changed > 0 && <p className="muted">{t("mapping.savedTo", { file })}</p>}
      <div className="toolbar plain">
        <DownloadButton pairs={pairs} file={file} />
        {changeable && <LoadButton />}
      </div>
    </section>
  );
}

function UnmapAll({ pairs }: { pairs: MappedPair[] }) {
  const { t } = useTranslation();
  const working = useMappingWork(({ pending }) => pending > 0);
  return (
    <button
      type="button"
      className="button small"
      title={t("mapping.unmapAllHelp")}
      disabled={working}
      onClick={() => void removeAllMappings(pairs)}
    >
      {t("mapping.unmapAll")}
    </button>
  );
}

function MappedRow({ pair, changeable }: { pair: MappedPair; changeable: boolean }) {
  const { t } = useTranslation();
  const show = async (): Promise<void> => {
    const id = await problemNode(pair);
    if (id === undefined) useApp.getState().set({ notice: "notHere" });
    else await selectNode(id);
  };
  return (
    <li>
      <button
        type="button"
        className="row-button stacked"
        title={`${pair.problem} ↔ ${pair.benchmark}`}
        onClick={() => void guarded(() => void show(), show)}
      >
        <span className="node-tail">
          <BreakableName name={pair.problem} />
        </span>
        <span className="muted">
          ↔ <BreakableName name={pair.benchmark} />
        </span>
        {pair.descendants && <span className="tag">{t("mapping.withDescendants")}</span>}
      </button>
      {changeable && (
        <button
          type="button"
          className="icon small"
          aria-label={`${t("mapping.unmap")} ${pair.problem}`}
          title={t("mapping.unmap")}
          onClick={() => void removeMapping(pair)}
        >
          <Unlink aria-hidden size={15} />
        </button>
      )}
    </li>
  );
}

function DownloadButton({ pairs, file }: { pairs: MappedPair[]; file: string }) {
  const { t } = useTranslation();
  const name = file.split(/[\\/]/).pop() ?? "mapping.json";
  return (
    <button
      type="button"
      className="button"
      disabled={pairs.length === 0}
      onClick={() => download(name, mappingFile(pairs), "application/json")}
    >
      <Download aria-hidden size={14} /> {t("mapping.download")}
    </button>
  );
}

function LoadButton() {
  const { t } = useTranslation();
  const input = useRef<HTMLInputElement>(null);
  const load = async (chosen: File): Promise<void> => {
    const read = readMappingFile(await chosen.text());
    if (read) await replaceMappings(read);
    else useApp.getState().set({ notice: t("mapping.badFile", { file: chosen.name }) });
  };
  return (
    <>
      <button type="button" className="button" onClick={() => input.current?.click()}>
        <Upload aria-hidden size={14} /> {t("mapping.import")}
      </button>
      <input
        ref={input}
        type="file"
        accept=".json,application/json"
        hidden
        aria-label={t("mapping.import")}
        onChange={({ target }) => {
          const chosen = target.files?.[0];
          if (chosen) void load(chosen);
          target.value = "";
        }}
      />
    </>
  );
}

/** The id of a pair's problem node in the (step, rank) on screen. */
async function problemNode(pair: MappedPair): Promise<number | undefined> {
  const { db, step, rank } = useApp.getState();
  if (db === null || step === null || rank === null) return undefined;
  const q = `^${pair.problem.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`;
  const query = { q, regex: true, case: true, side: "problem" as const, limit: 1 };
  return (await api.search(db, step, rank, query)).hits[0]?.id;
}
