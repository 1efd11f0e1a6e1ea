/* The lists beside the graphs, one tab each. */

import * as Tabs from "@radix-ui/react-tabs";
import { useTranslation } from "react-i18next";

import { LEFT_TABS, type LeftTab, useApp } from "../state/store";
import { Divergences } from "./Divergences";
import { MappingPanel } from "./MappingPanel";
import { Outline } from "./Outline";
import { OverflowList } from "./OverflowList";
import { UnmatchedList } from "./UnmatchedList";

const PANELS: Record<LeftTab, () => React.ReactNode> = {
  divergences: Divergences,
  outline: Outline,
  overflow: OverflowList,
  unmatched: UnmatchedList,
  mapping: MappingPanel,
};

export function LeftPanel() {
  const { t } = useTranslation();
  const tab = useApp((state) => state.leftTab);
  const set = useApp((state) => state.set);
  return (
    <Tabs.Root
      className="panel"
      value={tab}
      onValueChange={(value) => set({ leftTab: value as LeftTab })}
    >
      <Tabs.List className="tabs" aria-label={t("tabs.left")}>
        {LEFT_TABS.map((one) => (
          <Tabs.Trigger key={one} value={one} className="tab">
            {t(`tabs.${one}`)}
          </Tabs.Trigger>
        ))}
      </Tabs.List>
      {LEFT_TABS.map((one) => {
        const Content = PANELS[one];
        return (
          <Tabs.Content key={one} value={one} className="panel-content" tabIndex={-1}>
            <Content />
          </Tabs.Content>
        );
      })}
    </Tabs.Root>
  );
}
