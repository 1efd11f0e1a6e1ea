/* The whole graph, small, with what of it is in view: a click or a drag goes there. */

import { type PointerEvent, memo } from "react";

import type { Recolour } from "../../graph/appearance";
import { boxColours } from "../../graph/boxlook";
import { namedAt } from "../../graph/boxmarks";
import { namedColours } from "../../graph/namedlook";
import type { DiffPalette } from "../../graph/scene";
import type { Laid } from "../../hooks/useModuleGraph";

/** Pixels that it takes at most. */
const WIDE = 180;
const HIGH = 150;
/** The mark of what is named is seen however small its box is. */
const MARK = 4;

interface Props {
  laid: Laid;
  pane: React.RefObject<SVGRectElement | null>;
  centre: (x: number, y: number) => void;
  palette: DiffPalette;
  recolour: Recolour;
}

export const BoxMap = memo(function BoxMap({ laid: { graph, layout }, pane, centre, palette, recolour }: Props) {
  const scale = Math.min(WIDE / layout.width, HIGH / layout.height);
  const go = (event: PointerEvent<SVGSVGElement>): void => {
    event.stopPropagation();
    if (event.buttons !== 1) return;
    const { left, top } = event.currentTarget.getBoundingClientRect();
    centre((event.clientX - left) / scale, (event.clientY - top) / scale);
  };
  const start = (event: PointerEvent<SVGSVGElement>): void => {
    event.currentTarget.setPointerCapture(event.pointerId);
    go(event);
  };
  const holds = new Set(graph.boxes.map(({ parent }) => parent));
  return (
    // For pointers alone: keys move what is selected, which moves what is in view.
    <svg
      className="box-map"
      aria-hidden
      width={layout.width * scale}
      height={layout.height * scale}
      viewBox={`0 0 ${layout.width} ${layout.height}`}
      onPointerDown={start}
      onPointerMove={go}
    >
      {graph.boxes.map(({ place, row }) => {
        const at = layout.places.get(place);
        if (!at) return null;
        const open = holds.has(place);
        const named = namedAt(row, open) !== null;
        const fill = open ? palette.raised : (boxColours(row, recolour, palette.theme)?.fill ?? palette.line);
        return <rect key={place} {...rectOf(at)} rx={4} fill={fill} stroke={named ? namedColours(row, palette).strong : palette.muted} strokeWidth={(named ? MARK : 1) / scale} strokeOpacity={named ? 1 : 0.5} />;
      })}
      <rect ref={pane} fill={palette.accent} fillOpacity={0.12} stroke={palette.accent} strokeWidth={1.5 / scale} />
    </svg>
  );
});

function rectOf({ x, y, width, height }: { x: number; y: number; width: number; height: number }) {
  return { x, y, width, height };
}
