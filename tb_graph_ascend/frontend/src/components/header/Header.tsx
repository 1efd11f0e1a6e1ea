/* The bar on top: which file, step and rank; search; legend; theme, language, sharing, help. */

import { CircleHelp, Ellipsis, FilePlus2, Moon, Sun } from "lucide-react";
import { useTranslation } from "react-i18next";

import type { Databases } from "../../api/types";
import { tensorBoardWindow } from "../../state/addressbar";
import { useLayout } from "../../state/layout";
import { usePreferences } from "../../state/preferences";
import { useApp } from "../../state/store";
import { useTrends } from "../../state/trends";
import { DatabaseChoice } from "./DatabaseChoice";
import { Legend, LegendCounts } from "../diff/Legend";
import { Popup } from "../parts/Popup";
import { RankStrip } from "../ranks/RankStrip";
import { PairChoice } from "./PairChoice";
import { SearchBox } from "./SearchBox";
import { ShareMenu } from "./ShareMenu";
import { PageTabs } from "../trends/PageTabs";

export function Header({ databases }: { databases: Databases }) {
  const { t } = useTranslation();
  const opened = useApp((state) => state.db);
  const trends = useTrends((state) => state.run !== null);
  const db = trends ? null : opened;
  const busy = useApp((state) => state.busy);
  const { compact, low } = useLayout();
  const build = !databases.read_only && <BuildButton />;
  const tools = (
    <>
      {tensorBoardWindow() === null && <ThemeButton />}
      <LanguageButton />
      <HelpButton />
    </>
  );
  return (
    <header className="header" aria-busy={busy}>
      {databases.databases.length === 0 && <span className="app-name">{t("app")}</span>}
      <PageTabs comparisons={databases.databases.length > 0} />
      {!trends && databases.databases.length > 0 && <DatabaseChoice databases={databases} />}
      {db !== null && (
        <>
          <PairChoice />
          <SearchBox />
          {compact ? <LegendCounts /> : <Legend />}
        </>
      )}
      <div className="header-tools">
        {!compact && build}
        {db !== null && <ShareMenu />}
        {!compact && tools}
        {compact && (
          <Popup label={t("header.more")} face={<Ellipsis aria-hidden size={17} />}>
            {db !== null && <Legend />}
            {db !== null && low && <RankStrip />}
            <div className="popup-tools">
              {build}
              {tools}
            </div>
          </Popup>
        )}
      </div>
    </header>
  );
}

function BuildButton() {
  const { t } = useTranslation();
  const set = useApp((state) => state.set);
  return <ToolButton icon={FilePlus2} label={t("header.build")} run={() => set({ dialog: "build", wish: null })} />;
}

function ThemeButton() {
  const { t } = useTranslation();
  const { theme, setTheme } = usePreferences();
  const icon = theme === "dark" ? Sun : Moon;
  const other = theme === "dark" ? "light" : "dark";
  return <ToolButton icon={icon} label={t("header.theme")} run={() => setTheme(other)} />;
}

function HelpButton() {
  const { t } = useTranslation();
  const set = useApp((state) => state.set);
  return <ToolButton icon={CircleHelp} label={t("header.help")} keys="?" run={() => set({ dialog: "help" })} />;
}

interface ToolProps {
  icon: typeof Sun;
  label: string;
  keys?: string;
  run: () => void;
}

function ToolButton({ icon: Icon, label, keys, run }: ToolProps) {
  const title = keys === undefined ? label : `${label} (${keys})`;
  return (
    <button type="button" className="icon" aria-label={label} title={title} onClick={run}>
      <Icon aria-hidden size={17} />
    </button>
  );
}

function LanguageButton() {
  const { t } = useTranslation();
  const { language, setLanguage } = usePreferences();
  const label = t("header.language");
  const other = language === "en" ? "zh" : "en";
  return (
    <button
      type="button"
      className="icon text"
      lang={other}
      aria-label={label}
      title={label}
      onClick={() => setLanguage(other)}
    >
      {t("header.languageShort")}
    </button>
  );
}
