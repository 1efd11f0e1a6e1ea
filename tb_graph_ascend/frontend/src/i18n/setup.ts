/* Sets up i18next: English at once, Chinese when first needed; numbers in sentences by formatters. */

import i18next, { type i18n } from "i18next";
import { initReactI18next } from "react-i18next";

import { en } from "./en";
import type { Language } from "./negotiate";

/** The ready instance; keys are checked against English by the types below. */
export function createI18n(): i18n {
  const instance = i18next.createInstance();
  void instance.use(initReactI18next).init({
    lng: "en",
    fallbackLng: "en",
    resources: { en: { translation: en } },
    interpolation: { escapeValue: false }, // React escapes
    initAsync: false,
  });
  addFormats(instance);
  return instance;
}

/** Load a language when it is new, then switch to it. */
export async function changeLanguage(instance: i18n, language: Language): Promise<void> {
  if (language === "zh" && !instance.hasResourceBundle("zh", "translation")) {
    const { zh } = await import(/* webpackChunkName: "zh" */ "./zh");
    instance.addResourceBundle("zh", "translation", zh);
  }
  await instance.changeLanguage(language);
}

function addFormats(instance: i18n): void {
  const { formatter } = instance.services;
  formatter?.add("short", (value: unknown) => number(value, (it) => it.toPrecision(3)));
  formatter?.add("factor", (value: unknown) => number(value, factor));
  formatter?.add("score", (value: unknown) => number(value, (it) => it.toFixed(2)));
  formatter?.add("percent", (value: unknown, language) => number(value, (it) => spaced(percent(it), language)));
  formatter?.add("apart", (value: unknown, language) => number(value, (it) => apart(it, language)));
}

/** A share in percent: with a digit behind the point, where that shows something. */
export function percent(share: number): string {
  const hundredths = share * 100;
  const size = Math.abs(hundredths);
  if (size === 0 || (size >= 0.1 && size < 1000)) return `${hundredths.toFixed(1)} %`;
  if (size < 0.1) return `${String(Number(hundredths.toPrecision(2)))} %`;
  return size < 1e6 ? `${hundredths.toFixed(0)} %` : `${hundredths.toExponential(1)} %`;
}

/** A factor with three digits, from a thousand on as a whole number: loss scales are such. */
export function factor(times: number): string {
  const size = Math.abs(times);
  return size >= 1000 && size < 1e15 ? times.toFixed(0) : String(Number(times.toPrecision(3)));
}

/** From ten times on nobody reads percent. */
const TIMES = 10;

/** How far a value is off: in percent of the benchmark, or by how many times it. */
export function apart(error: number, language: string | undefined): string {
  const chinese = language?.startsWith("zh") === true;
  if (Math.abs(error) < TIMES) return chinese ? ` ${spaced(percent(error), language)}` : percent(error);
  const size = error.toLocaleString(chinese ? "zh-CN" : "en", { notation: "compact", compactDisplay: "long", maximumSignificantDigits: 2 });
  return chinese ? ` ${size}${/\d$/.test(size) ? " " : ""}倍` : `${size} times the benchmark`;
}

/** Chinese has no blank before the sign. */
function spaced(text: string, language: string | undefined): string {
  return language?.startsWith("zh") === true ? text.replace(" %", "%") : text;
}

function number(value: unknown, format: (value: number) => string): string {
  return typeof value === "number" ? format(value) : String(value);
}
