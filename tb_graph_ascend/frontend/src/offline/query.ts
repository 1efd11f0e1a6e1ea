/* The query language of lists and searches, as `view/search/query.py` has it. */

import { badQuery } from "./refusal";

export type NumberColumn = "score" | "input" | "introduced";
export type State = "forward" | "backward" | "matched" | "unmatched" | "divergent" | "overflow";

export type Term = { negated: boolean } & (
  | { of: "word"; text: string }
  | { of: "expression"; expression: RegExp }
  | { of: "bound"; column: NumberColumn; operator: string; number: number }
  | { of: "field"; name: string; value: string }
  | { of: "state"; state: State }
);

const FIELDS: Record<string, readonly string[]> = {
  side: ["problem", "benchmark"],
  kind: ["module", "api", "root", "collection"],
  direction: ["forward", "backward"],
  verdict: ["pass", "warning", "error"],
  overflow: ["medium", "high", "critical"],
};
const STATES: readonly State[] = ["forward", "backward", "matched", "unmatched", "divergent", "overflow"];
const TERM =
  /\s*(?<negated>-?)(?:\/(?<expression>(?:\\.|[^/\\])+)\/(?=\s|$)|"(?<quoted>[^"]*)"|(?<column>score|input|introduced)\s*(?<operator><=|>=|<|>|=)\s*(?<number>\S*)|(?<field>[a-z]+):(?<choice>\S*)|(?<word>\S+))/iy;
const CALL = /^(?:(?<name>.*\S)\s+)?#(?<number>\d+)$/;
const NUMBER = /^[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf(?:inity)?)$/i;
const NEXT = "words, /expressions/, score>0.5, side: kind: direction: verdict: overflow: are understood";

type Groups = Record<string, string | undefined>;

/** The terms of a query in their order; an empty one lets everything through. */
export function parseQuery(text: string): Term[] {
  const terms: Term[] = [];
  const trimmed = text.trimEnd();
  for (let place = 0; place < trimmed.length; ) {
    TERM.lastIndex = place;
    const match = TERM.exec(trimmed);
    if (match === null) break; // only a lone minus sign is no term
    const term = termOf(match[0].trim(), match.groups ?? {});
    if (term.of !== "word" || term.text !== "" || term.negated) terms.push(term);
    place = TERM.lastIndex;
  }
  return terms;
}

function termOf(told: string, groups: Groups): Term {
  const negated = groups.negated === "-";
  if (groups.expression !== undefined) {
    return { of: "expression", expression: expressionOf(groups.expression.replaceAll("\\/", "/"), false), negated };
  }
  if (groups.column !== undefined) return boundOf(told, groups, negated);
  if (groups.field !== undefined) return fieldOf(groups, negated);
  if (groups.quoted !== undefined) return wordsOf(groups.quoted, negated);
  const word = groups.word ?? "";
  const state = STATES.find((one) => one === word.toLowerCase());
  return state === undefined ? wordsOf(word, negated) : { of: "state", state, negated };
}

/** What a name holds; of a call as rows show it the number stands between dots, or last. */
function wordsOf(text: string, negated: boolean): Term {
  const { name = "", number } = (CALL.exec(text)?.groups ?? {}) as Groups;
  if (number === undefined) return { of: "word", text, negated };
  const between = /[\p{L}\p{N}_]$/u.test(name) ? "(?:[^\\p{L}\\p{N}_].*)?" : ".*";
  const before = name === "" ? "" : escaped(name) + between;
  return { of: "expression", expression: new RegExp(`${before}\\.${number}(?:\\.|$)`, "iu"), negated };
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}

function boundOf(term: string, groups: Groups, negated: boolean): Term {
  const { column = "", operator = "", number = "" } = groups;
  if (!NUMBER.test(number)) {
    throw badQuery(`'${term}' compares with no number`, "write score>0.5", { code: "no_number", term });
  }
  const value = /inf/i.test(number) ? (number.startsWith("-") ? -Infinity : Infinity) : Number(number);
  return { of: "bound", column: column.toLowerCase() as NumberColumn, operator, number: value, negated };
}

function fieldOf(groups: Groups, negated: boolean): Term {
  const [name, value] = [(groups.field ?? "").toLowerCase(), (groups.choice ?? "").toLowerCase()];
  const known = FIELDS[name];
  if (known === undefined) throw badQuery(`${name}: is no field`, NEXT, { code: "no_field", field: name });
  if (!known.includes(value)) {
    const choices = known.map((choice) => `${name}:${choice}`).join(", ");
    throw badQuery(`${name}:${value} is unknown`, `write one of ${choices}`, { code: "no_choice", term: `${name}:${value}`, choices });
  }
  return { of: "field", name, value, negated };
}

/** A regular expression of a person's. The server has RE2; here it is the browser's own. */
export function expressionOf(pattern: string, exact: boolean): RegExp {
  const flags = exact ? "" : "i";
  try {
    return new RegExp(pattern, `${flags}u`);
  } catch {
    try {
      return new RegExp(pattern, flags); // needless escapes, which only the strict grammar refuses
    } catch (error) {
      const told = { pattern: pattern.slice(0, 100), error: String(error).slice(0, 200) };
      throw badQuery(`'${told.pattern}' is no regular expression (${told.error})`, "escape special characters with \\, or search for plain text", { code: "no_expression", ...told });
    }
  }
}
