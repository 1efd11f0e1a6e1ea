/* The whole pair over execution order: where it is worst, where it begins, and what is in view. */

import { type KeyboardEvent, type PointerEvent, useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";

import { type Span, WHOLE, blockAt, normRange, paintProfile, rowOfShare, shareOfRow } from "../../graph/profilepaint";
import { shortNumber } from "../../text/numbers";
import { useDiffPalette } from "../../hooks/useDiffPalette";
import { useLayout } from "../../state/layout";
import type { DiffView } from "../../state/diffview";
import { useApp } from "../../state/store";

const HEIGHT = 68;
const COMPACT_HEIGHT = 36;
const LOW_HEIGHT = 18;
const STEP = 0.05;
/** Pixels below the upper edge at which the layers stand, below the names of passes. */
const LANE_OF_LAYERS = 16;

export function ProfileStrip({ diff }: { diff: DiffView }) {
  const { t } = useTranslation();
  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const lens = useRef<HTMLDivElement>(null);
  const palette = useDiffPalette();
  const recolour = useApp((state) => state.recolour);
  const { compact, low } = useLayout();
  const height = low ? LOW_HEIGHT : compact ? COMPACT_HEIGHT : HEIGHT;
  const [width, setWidth] = useState(0);
  const [span, setSpan] = useState<Span>(WHOLE);
  const { profile } = diff;
  const zoomed = span !== WHOLE;

  useEffect(() => {
    const element = frame.current;
    if (!element) return undefined;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (!context || !canvas.current || !profile || width === 0) return;
    const ratio = window.devicePixelRatio || 1;
    canvas.current.width = Math.round(width * ratio);
    canvas.current.height = Math.round(height * ratio);
    const phase = (name: string): string => t(`profile.${name}`, { defaultValue: name });
    paintProfile(context, { profile, width, height, ratio, palette, recolour, phase, span });
  }, [profile, width, height, palette, recolour, span, t]);

  useEffect(() => {
    const place = (): void => {
      if (!lens.current || !diff.window) return;
      const { bins } = diff.pages;
      const { top, rowHeight, last } = diff.window;
      const x = (share: number): number => ((share - span.from) / (span.to - span.from)) * width;
      const from = x(shareOfRow(top / rowHeight, bins));
      const to = x(shareOfRow(last, bins));
      lens.current.style.transform = `translateX(${from}px)`;
      lens.current.style.width = `${Math.max(6, to - from)}px`;
    };
    place();
    return diff.onMoved(place);
  }, [diff, diff.version, width, span]);

  const go = (share: number): void => {
    const half = (diff.pane?.visibleRows() ?? 0) / 2;
    diff.pane?.setTop(rowOfShare(share, diff.pages.bins) - half);
  };
  /** A block fills the strip, and the rows go to its first; what fills it already shows all again. */
  const zoomTo = (block: Span): void => {
    setSpan(block.from === span.from && block.to === span.to ? WHOLE : block);
    diff.pane?.setTop(rowOfShare(block.from, diff.pages.bins));
  };
  const onPointer = (event: PointerEvent<HTMLDivElement>): void => {
    if ((event.buttons & 1) === 0) return;
    const box = event.currentTarget.getBoundingClientRect();
    const share = span.from + ((event.clientX - box.left) / box.width) * (span.to - span.from);
    if (event.type === "pointerdown") {
      const block = profile && blockAt(profile, height, share, event.clientY - (canvas.current?.getBoundingClientRect().top ?? box.top));
      if (block) {
        zoomTo(block);
        return;
      }
      event.currentTarget.setPointerCapture(event.pointerId);
    } else if (!event.currentTarget.hasPointerCapture(event.pointerId)) return;
    go(share);
  };
  const share = diff.window ? shareOfRow(diff.window.top / diff.window.rowHeight, diff.pages.bins) : 0;
  const onKeyDown = (event: KeyboardEvent): void => {
    const block = event.key === "Enter" && profile ? blockAt(profile, height, share, LANE_OF_LAYERS) : null;
    if (block || (zoomed && event.key === "Escape")) {
      if (block) zoomTo(block);
      else setSpan(WHOLE);
      event.preventDefault();
      event.stopPropagation();
      return;
    }
    const step = { ArrowLeft: -STEP, ArrowRight: STEP, Home: -1, End: 1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    go(Math.min(1, Math.max(0, share + step)));
  };
  const range = profile && normRange(profile.norms);
  const help =
    range == null ? t("profile.help") : t("profile.norms", { least: shortNumber(range[0]), most: shortNumber(range[1]) });
  return (
    <div className="profile-strip">
      <div
        className="profile"
        ref={frame}
        role="slider"
        tabIndex={0}
        aria-label={range == null ? t("profile.label") : help}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={Math.round(share * 100)}
        title={help}
        onPointerDown={onPointer}
        onPointerMove={onPointer}
        onKeyDown={onKeyDown}
      >
        <canvas ref={canvas} aria-hidden style={{ height }} />
        <div className="profile-lens" ref={lens} />
      </div>
      {zoomed && (
        <button type="button" className="button small profile-whole" onClick={() => setSpan(WHOLE)}>
          {t("profile.whole")}
        </button>
      )}
    </div>
  );
}
