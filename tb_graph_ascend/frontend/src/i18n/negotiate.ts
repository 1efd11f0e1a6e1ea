/* Which of our languages a browser's list asks for. */

export type Language = "en" | "zh";

/** The language of a browser's list that we speak, English as fallback. */
export function negotiate(languages: readonly string[]): Language {
  const spoken = languages.map((tag) => tag.toLowerCase().split("-", 1)[0]);
  const known = spoken.find((tag) => tag === "zh" || tag === "en");
  return known === "zh" ? "zh" : "en";
}
