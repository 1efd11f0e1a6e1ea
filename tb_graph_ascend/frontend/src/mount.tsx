/* Mounts the React application: store, requests, languages, styles. */

import { QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { I18nextProvider } from "react-i18next";

import { queryClient } from "./api/queries";
import { App } from "./components/page/App";
import { ErrorBoundary } from "./components/page/ErrorBoundary";
import { changeLanguage, createI18n } from "./i18n/setup";
import { showTheme, usePreferences } from "./state/preferences";
import "./styles/tokens.css";
import "./styles/frame.css";
import "./styles/boxes.css";
import "./styles/panels.css";
import "./styles/tables.css";
import "./styles/diff.css";
import "./styles/profile.css";
import "./styles/answer.css";
import "./styles/trends.css";

/** Start the interface inside an element. */
export function mount(element: HTMLElement): void {
  const i18n = createI18n();
  const speak = (): void => {
    const { language } = usePreferences.getState();
    document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
    void changeLanguage(i18n, language);
  };
  showTheme();
  speak();
  usePreferences.subscribe(speak);
  document.title ||= "tb-graph-ascend";
  createRoot(element).render(
    <StrictMode>
      <QueryClientProvider client={queryClient}>
        <I18nextProvider i18n={i18n}>
          <ErrorBoundary>
            <App />
          </ErrorBoundary>
        </I18nextProvider>
      </QueryClientProvider>
    </StrictMode>,
  );
}
