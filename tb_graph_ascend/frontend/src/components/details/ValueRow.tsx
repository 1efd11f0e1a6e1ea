/* One value of the selected node: both sides, what differs, its score. */

import { ChevronDown, ChevronRight } from "lucide-react";
import { useTranslation } from "react-i18next";

import type { ErrorOf, FlowLink, Measure, Value, ValuePair } from "../../api/types";
import { type Column, isArgument } from "../../state/columns";
import { NumberCell } from "../parts/NumberCell";
import { ScoreChip } from "../parts/ScoreChip";
import { lightRails } from "../../state/litrails";
import { scoreSentence } from "../../text/scores";
import { FlowEnds } from "./FlowEnds";

interface Props {
  value: ValuePair;
  columns: Column[];
  /** Whether there is another run, and so a score. */
  scored: boolean;
  /** The calls at the other ends of its rails. */
  ends: readonly FlowLink[];
  /** Whose value it is, where it is not of the selected node. */
  of?: string | undefined;
  open: boolean;
  toggle: () => void;
}

export function ValueRow({ value, columns, scored, ends, of: owner, open, toggle }: Props) {
  const { t } = useTranslation();
  const name = [owner, value.role, value.path].filter(Boolean).join(".");
  const light = (): void => lightRails(ends.map(({ node }) => node));
  const Icon = open ? ChevronDown : ChevronRight;
  return (
    <tr
      className={value.worst ? "worst" : undefined}
      onPointerEnter={light}
      onPointerLeave={() => lightRails()}
      onFocus={light}
      onBlur={() => lightRails()}
    >
      <th scope="row">
        <button
          type="button"
          className="value-name"
          aria-expanded={open}
          aria-label={t("details.expand", { value: name })}
          onClick={toggle}
        >
          <Icon aria-hidden size={13} />
          {owner !== undefined && <span className="muted">{owner}&nbsp;</span>}
          <span className="role">{value.role}</span>
          {value.path !== "" && <span>.{value.path}</span>}
        </button>
        {value.worst && <span className="tag start">{t("details.worst")}</span>}
        {scored && <Surplus value={value} />}
        <FlowEnds links={ends} direction={value.role === "output" || value.role === "parameters_grad" ? "to" : "from"} />
        <Nonfinite value={value} />
        {value.differs.includes("requires_grad") && (
          <span className="tag differs">
            requires_grad {String(value.problem?.requires_grad)} ≠{" "}
            {String(value.benchmark?.requires_grad)}
          </span>
        )}
      </th>
      <Attribute value={value} name="dtype" text={({ dtype, type }) => dtype ?? type} />
      <Attribute value={value} name="shape" text={shapeText} />
      {columns.map(({ key, of, beside, part }) => (
        <Cell
          key={key}
          named={key}
          shown={of(value)}
          beside={beside?.(value)}
          part={part?.(value) ?? null}
          itself={/norm$/i.test(key) && isArgument(value)}
        />
      ))}
      {scored && (
        <td className="number">
          <ScoreChip score={value.score} title={scoreSentence(t, value) ?? t("legend.noScore")} />
        </td>
      )}
    </tr>
  );
}

/** Which run alone has the value. */
function Surplus({ value }: { value: ValuePair }) {
  const { t } = useTranslation();
  if (value.problem && value.benchmark) return null;
  const label = value.problem ? t("details.onlyProblem") : t("details.onlyBenchmark");
  return <span className="tag">{label}</span>;
}

/** How many elements are NaN or infinite, where some are; of both runs where that is not the same. */
function Nonfinite({ value: { problem, benchmark } }: { value: ValuePair }) {
  const { t } = useTranslation();
  const kinds = ["nan", "inf"] as const;
  return kinds.map((kind) => {
    const [ours, theirs] = [problem, benchmark].map((side) => side && (side[`${kind}_count`] ?? 0));
    if (!ours && !theirs) return null;
    const differs = problem !== null && benchmark !== null && ours !== theirs;
    const told = t(`details.counted.${kind}`, { count: ours ?? theirs ?? 0 });
    return (
      <span key={kind} className={differs ? "tag differs" : "tag"}>
        {differs ? t("details.counted.apart", { told, theirs }) : told}
      </span>
    );
  });
}

interface AttributeProps {
  value: ValuePair;
  name: "dtype" | "shape";
  text: (value: Value) => string;
}

function Attribute({ value, name, text }: AttributeProps) {
  const { problem, benchmark } = value;
  const differs = value.differs.includes(name) || (name === "dtype" && value.differs.includes("type"));
  if (differs && problem && benchmark) {
    return (
      <td className="attribute">
        <span className="tag differs">
          {text(problem)} ≠ {text(benchmark)}
        </span>
      </td>
    );
  }
  const one = problem ?? benchmark;
  return <td className="attribute">{one ? text(one) : ""}</td>;
}

interface CellProps {
  /** The key of its column. */
  named: string;
  shown: Measure | { text: string };
  /** The number of the other run. */
  beside: Measure | undefined;
  part: ErrorOf | null;
  /** Not a norm, as the head of the column says, but the argument. */
  itself: boolean;
}

function Cell({ named, shown, beside, part, itself }: CellProps) {
  const { t } = useTranslation();
  if (shown !== null && typeof shown === "object") {
    return (
      <td className={`number scalar ${named}`} title={shown.text}>
        {shown.text}
      </td>
    );
  }
  const note = part === null ? undefined : t(`score.short.${part}`);
  return <NumberCell value={shown} beside={beside} note={itself ? "=" : note} named={named} />;
}

function shapeText({ shape }: Value): string {
  return shape === null ? "" : `[${shape.join(", ")}]`;
}
