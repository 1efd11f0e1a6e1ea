/* The boxes and edges of a module as SVG, with all colours written out, so that it can be saved. */

import { type ReactElement, memo } from "react";
import { useTranslation } from "react-i18next";

import type { GraphBox, GraphEdge, GraphInput } from "../../api/types";
import { BOX_FONT, GAP, LANES, LINE, LINE_FONT, boxColours, boxText, fitted, fittedType, inputText, leavesText, shapeText, titleStart } from "../../graph/boxlook";
import { carriesDifference, namedAt } from "../../graph/boxmarks";
import { EDGE_LOOKS, type Known } from "../../graph/edgelook";
import type { Recolour } from "../../graph/appearance";
import type { Place, Route } from "../../graph/boxroutes";
import { namedColours } from "../../graph/namedlook";
import type { DiffPalette } from "../../graph/scene";
import { type Laid, boxWords, inputId } from "../../hooks/useModuleGraph";
import { selectNode } from "../../state/actions";
import { toggleBox } from "../../state/boxes";

interface Props {
  laid: Laid;
  comparison: boolean;
  palette: DiffPalette;
  recolour: Recolour;
  selected: number | null;
}

export const BoxDrawing = memo(function BoxDrawing({ laid, comparison, palette, recolour, selected }: Props) {
  const { t } = useTranslation();
  const { graph, layout } = laid;
  const known = new Map(graph.edges.map((edge) => [`${edge.producer} ${edge.consumer}`, edge]));
  const shaped = new Set<number>();
  const texts: ReactElement[] = [];
  const leaving = leavingOf(layout.routes, known);
  const byPlace = new Map(graph.boxes.map((box) => [box.place, box]));
  const holds = new Set(graph.boxes.map(({ parent }) => parent));
  const ends = new Set(graph.boxes.filter((box) => isSelected(box, selected)).map(({ place }) => place));
  return (
    <>
      <defs>
        <pattern id="box-hatch" width="8" height="8" patternUnits="userSpaceOnUse">
          <path d="M-2 8L8 -2M0 10L10 0" stroke={palette.hatch} strokeWidth="1.2" />
        </pattern>
        <marker id="box-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="9" markerHeight="9" orient="auto-start-reverse" markerUnits="userSpaceOnUse">
          <path d="M0 0L8 4L0 8z" fill={palette.muted} />
        </marker>
        <marker id="box-arrow-bad" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="9" markerHeight="9" orient="auto-start-reverse" markerUnits="userSpaceOnUse">
          <path d="M0 0L8 4L0 8z" fill={palette.railBad} />
        </marker>
      </defs>
      {graph.boxes.map((box) => {
        const place = layout.places.get(box.place);
        if (!place) return null;
        const props = { box, place, comparison, palette, recolour, selected: isSelected(box, selected) };
        return <Box key={box.place} {...props} holds={holds.has(box.place)} />;
      })}
      {graph.inputs.map((input, index) => {
        const place = layout.places.get(inputId(index));
        return place && <InputBox key={inputId(index)} input={input} place={place} palette={palette} />;
      })}
      {layout.lanes.length > 1 &&
        layout.lanes.map(({ lane, x }, index) => (
          <g key={lane} className="box-lane">
            <text x={layout.across ? LANE_START : x} y={layout.across ? x + LANE_START : LANE_LINE} fontSize={BOX_FONT} fontWeight={600} fill={palette.muted} fontFamily={palette.font}>
              {t(`boxes.lanes.${LANES[lane] ?? "forward"}`)}
            </text>
            {index > 0 && <path d={layout.across ? `M8 ${x - 20}H${layout.width - 8}` : `M${x - 20} 8V${layout.height - 8}`} stroke={palette.line} strokeWidth={1.5} strokeDasharray="8 6" />}
          </g>
        ))}
      {layout.routes.map((route) => {
        const edge = known.get(`${route.from} ${route.to}`);
        const [how, leaves] = [edge?.known ?? "recorded", edge?.leaves ?? null];
        // All that read an output read one shape: it stands once, where the edges begin.
        const from = how === "next" || leaves !== null || shaped.has(route.from) ? undefined : byPlace.get(route.from);
        if (from) shaped.add(route.from);
        const key = `${route.from} ${route.to}`;
        texts.push(<EdgeTexts key={key} route={route} from={from} leaving={leaving.get(route) ?? ""} start={layout.places.get(route.from)} across={layout.across} palette={palette} />);
        const differs = carriesDifference(byPlace.get(route.from));
        return <Edge key={key} route={route} how={how} differs={differs} palette={palette} lit={route.loose ? null : ends.has(route.from) ? "out" : ends.has(route.to) ? "in" : null} />;
      })}
      {/* Above all edges: none strikes the text of another out. */}
      {texts}
    </>
  );
});

/** Where the name of a lane begins that runs to the right, and its line over lanes that run down. */
const LANE_START = 14;
const LANE_LINE = 20;

/** What stands at edges that leave certain ones of repeats: those that end at one place share one text. */
function leavingOf(routes: readonly Route[], known: ReadonlyMap<string, GraphEdge>): ReadonlyMap<Route, string> {
  const first = new Map<string, Route>();
  const texts = new Map<Route, string>();
  for (const route of routes) {
    const text = leavesText(known.get(`${route.from} ${route.to}`)?.leaves ?? null);
    if (text === "") continue;
    const at = first.get(route.label.join()) ?? route;
    first.set(route.label.join(), at);
    texts.set(at, [texts.get(at), text].filter(Boolean).join("; "));
  }
  return texts;
}

function isSelected({ row }: GraphBox, selected: number | null): boolean {
  return selected !== null && (row.problem?.id === selected || row.benchmark?.id === selected);
}

interface BoxProps extends Omit<Props, "laid" | "selected"> {
  box: GraphBox;
  place: Place;
  selected: boolean;
  /** It is open, and other boxes stand in it. */
  holds: boolean;
}

function Box({ box, place, comparison, palette, recolour, selected, holds }: BoxProps) {
  const { t } = useTranslation();
  const { row } = box;
  const text = boxText(box, boxWords(t, comparison));
  const { title, line, weights } = text;
  const opens = row.children > 0;
  const alone = comparison && (row.problem === null || row.benchmark === null);
  const named = namedAt(row, holds);
  const { strong } = namedColours(row, palette);
  const colours = holds ? null : boxColours(row, recolour, palette.theme);
  const ink = colours?.ink ?? palette.ink;
  const node = row.problem ?? row.benchmark;
  const { x, y, width, height } = place;
  // Dashed and red would read as what begins inside: what one run alone has keeps its own frame within the red one.
  const strongest = named === "here" && !alone;
  const frame = strongest ? strong : selected ? palette.accent : palette.muted;
  return (
    // The keys of the picture do what clicks do.
    <g
      className="box"
      data-word={row.word}
      data-title={title}
      data-selected={selected}
      transform={`translate(${x} ${y})`}
      onClick={() => node && void selectNode(node.id, { keepView: true })}
      onDoubleClick={() => opens && toggleBox(row.key)}
    >
      <title>{box.unrecorded ? t("boxes.unrecorded", { name: title }) : row.kind === "collection" ? title : node?.name}</title>
      <rect width={width} height={height} rx={6} fill={colours?.fill ?? (holds ? palette.raised : palette.canvas)} />
      {alone && <rect width={width} height={height} rx={6} fill="url(#box-hatch)" />}
      <rect
        width={width}
        height={height}
        rx={6}
        fill="none"
        stroke={frame}
        strokeWidth={strongest || selected ? 2.5 : 1}
        strokeDasharray={alone ? "5 3" : undefined}
      />
      {/* Outside of the box, for its own frame is not seen on a dark fill. */}
      {named !== null && (
        <rect
          className={row.word === "heals" ? "box-heals" : "box-begins"}
          data-named={named}
          x={-4}
          y={-4}
          width={width + 8}
          height={height + 8}
          rx={9}
          fill="none"
          stroke={selected && !alone ? palette.accent : strong}
          strokeWidth={2}
          strokeDasharray={named === "inside" ? "3 3" : undefined}
        />
      )}
      {opens && (
        <g
          className="box-chevron"
          onClick={(event) => {
            event.stopPropagation();
            toggleBox(row.key);
          }}
        >
          <rect width={22} height={26} fill="transparent" />
          <path d={holds ? "M7 11L11 15L15 11" : "M9 9L13 13L9 17"} fill="none" stroke={ink} strokeWidth={1.6} />
          <title>{t(holds ? "boxes.close" : "boxes.open")}</title>
        </g>
      )}
      <text x={titleStart(opens)} y={18} fontSize={BOX_FONT} fontWeight={named === "here" || row.kind !== "api" ? 600 : 400} fill={ink} fontFamily={palette.font}>
        {fitted(title, width, opens)}
        {text.type !== "" && (
          <tspan dx={GAP} fontSize={LINE_FONT} fontWeight={400} fillOpacity={0.8}>
            {fittedType(text, width, opens)}
          </tspan>
        )}
      </text>
      {line !== "" && !holds && (
        <text
          x={10}
          y={34}
          fontSize={LINE_FONT}
          fill={box.unrecorded ? palette.muted : ink}
          fontStyle={box.unrecorded ? "italic" : undefined}
          fontFamily={palette.font}
        >
          {line}
        </text>
      )}
      {weights !== "" && !holds && (
        <text x={10} y={line === "" ? 34 : 34 + LINE} fontSize={LINE_FONT} fill={ink} fontFamily={palette.font}>
          {weights}
        </text>
      )}
    </g>
  );
}

/** What the run is fed: round, for it is no call. */
function InputBox({ input, place: { x, y, width, height }, palette }: { input: GraphInput; place: Place; palette: DiffPalette }) {
  const { t } = useTranslation();
  const { title, line } = inputText(input);
  const text = { x: width / 2, textAnchor: "middle", fill: palette.ink, fontFamily: palette.font } as const;
  return (
    <g className="box-input" data-title={title} transform={`translate(${x} ${y})`}>
      <title>{t("boxes.inputHelp")}</title>
      <rect width={width} height={height} rx={height / 2} fill={palette.canvas} stroke={palette.muted} />
      <text {...text} y={18} fontSize={BOX_FONT}>
        {title}
      </text>
      <text {...text} y={34} fontSize={LINE_FONT}>
        {line}
      </text>
    </g>
  );
}

interface EdgeProps {
  route: Route;
  how: Known;
  /** What passes is not the same in both runs. */
  differs: boolean;
  palette: DiffPalette;
  lit: "in" | "out" | null;
}

function Edge({ route, how, differs, palette, lit }: EdgeProps) {
  const { t } = useTranslation();
  const colour = lit === "in" ? palette.flowIn : lit === "out" ? palette.flowOut : differs ? palette.railBad : palette.muted;
  const look = EDGE_LOOKS[how];
  const fed = route.from < 0;
  return (
    <g className="box-edge" data-skips={route.skips} data-known={fed ? "input" : how} data-differs={differs}>
      <title>{fed ? t("boxes.inputHelp") : t(`boxes.known.${how}`)}</title>
      {/* A line is too thin to be pointed at. */}
      <path d={route.path} fill="none" stroke="transparent" strokeWidth={9} />
      <path
        d={route.path}
        fill="none"
        stroke={colour}
        strokeWidth={lit ? 2.2 : 1.3}
        strokeOpacity={lit ? 1 : look.opacity}
        strokeDasharray={look.dash ?? undefined}
        strokeLinecap={look.dash === null ? undefined : "round"}
        markerEnd={look.arrow ? `url(#${differs && !lit ? "box-arrow-bad" : "box-arrow"})` : undefined}
      />
    </g>
  );
}

interface EdgeTextsProps {
  route: Route;
  /** Whose shape stands at the edge; none where it stands already. */
  from: GraphBox | undefined;
  /** Which of several repeats it leaves, and others that lead to the same box; nothing for the last of them. */
  leaving: string;
  start: Place | undefined;
  /** Edges run to the right. */
  across: boolean;
  palette: DiffPalette;
}

function EdgeTexts({ route, from, leaving, start, across, palette }: EdgeTextsProps) {
  const shape = from ? shapeText(from.output) : "";
  // What bends away from its box would strike the text out.
  const halo = { stroke: palette.canvas, strokeWidth: 3, paintOrder: "stroke" } as const;
  const beside = { fontSize: LINE_FONT, fill: palette.muted, fontFamily: palette.font, ...halo } as const;
  return (
    <g className="box-edge-texts">
      {leaving !== "" && (
        <text className="box-leaves" x={route.label[0]} y={route.label[1]} textAnchor={across ? "end" : "start"} {...beside}>
          {leaving}
        </text>
      )}
      {shape !== "" && start && (
        <text x={start.x + (across ? start.width : start.width / 2) + 6} y={start.y + (across ? start.height / 2 - 5 : start.height + 16)} {...beside}>
          {shape}
        </text>
      )}
    </g>
  );
}
