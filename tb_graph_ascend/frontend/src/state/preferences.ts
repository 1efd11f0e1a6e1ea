/* Theme and language: chosen, remembered, else taken from TensorBoard, the system or the browser. */

import { create } from "zustand";

import { type Language, negotiate } from "../i18n/negotiate";
import { tensorBoardWindow } from "./addressbar";

export type Theme = "light" | "dark";

export interface Preferences {
  theme: Theme;
  language: Language;
  setTheme: (theme: Theme) => void;
  setLanguage: (language: Language) => void;
}

const THEME_KEY = "tb_graph_ascend.theme";
const LANGUAGE_KEY = "tb_graph_ascend.language";

export const usePreferences = create<Preferences>()((set) => ({
  theme: initialTheme(),
  language: initialLanguage(),
  setTheme: (theme) => {
    remember(THEME_KEY, theme);
    set({ theme });
  },
  setLanguage: (language) => {
    remember(LANGUAGE_KEY, language);
    set({ language });
  },
}));

/** Put the theme on the page, now and before anybody draws anew: what is drawn reads its colours there. */
export function showTheme(): void {
  const show = ({ theme }: Preferences): void => {
    document.documentElement.dataset.theme = theme;
  };
  show(usePreferences.getState());
  usePreferences.subscribe(show);
}

/** Follow the host's theme: TensorBoard's switch always, the system's until a choice is made. */
export function followHostTheme(): () => void {
  const host = tensorBoardWindow();
  if (host) return followTensorBoard(host);
  const query = window.matchMedia("(prefers-color-scheme: dark)");
  const follow = (): void => {
    if (recall(THEME_KEY) === null) usePreferences.setState({ theme: query.matches ? "dark" : "light" });
  };
  query.addEventListener("change", follow);
  return () => query.removeEventListener("change", follow);
}

function followTensorBoard(host: Window): () => void {
  const { body } = host.document;
  const follow = (): void => usePreferences.setState({ theme: tensorBoardTheme(host) });
  const observer = new MutationObserver(follow);
  observer.observe(body, { attributes: true, attributeFilter: ["class"] });
  follow();
  return () => observer.disconnect();
}

function tensorBoardTheme(host: Window): Theme {
  return host.document.body.classList.contains("dark-mode") ? "dark" : "light";
}

function initialTheme(): Theme {
  const host = tensorBoardWindow();
  if (host) return tensorBoardTheme(host);
  const chosen = recall(THEME_KEY);
  if (chosen === "light" || chosen === "dark") return chosen;
  return window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

function initialLanguage(): Language {
  const chosen = recall(LANGUAGE_KEY);
  return chosen === "en" || chosen === "zh" ? chosen : negotiate(navigator.languages);
}

function recall(key: string): string | null {
  try {
    return window.localStorage.getItem(key);
  } catch {
    return null; // storage may be forbidden in a frame
  }
}

function remember(key: string, value: string): void {
  try {
    window.localStorage.setItem(key, value);
  } catch {
    // Forbidden storage costs the memory of the choice, nothing else.
  }
}
