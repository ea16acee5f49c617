// A prompt: its ruler of depth, its marks, and its text, most of it folded.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ComponentChildren, JSX } from "preact";
import { initial, lay, type Laid, type Mark, type Piece, type Span } from "./prompt";
import { count, percent, plain, words } from "./text";

export function Prompt(props: { spans: Span[]; references: string[]; answer: string }): JSX.Element {
  const { spans, references, answer } = props;
  const laid = useMemo(() => lay(spans, references, answer), [spans, references, answer]);
  const [shown, setShown] = useState(() => initial(laid));
  const [mark, setMark] = useState(-1);
  const body = useRef<HTMLDivElement>(null);
  const everything = shown.size === laid.pieces.length;
  const fold = () => setShown(everything ? initial(laid) : new Set(laid.pieces.keys()));
  const jump = (index: number) => {
    const wanted = laid.marks[index];
    if (!wanted) return;
    setMark(index);
    setShown((old) => {
      const now = new Set(old);
      laid.pieces.forEach((piece, i) => {
        if (piece.start < wanted.end + 200 && piece.start + piece.text.length > wanted.start - 200) now.add(i);
      });
      return now;
    });
  };
  useEffect(() => {
    const target = body.current?.querySelector(`[data-mark="${mark}"]`);
    target?.scrollIntoView({ block: "center", behavior: "instant" });
  }, [mark]);
  useLayoutEffect(() => {
    const act = (event: Event) => {
      const what = (event as CustomEvent<string>).detail;
      if (what === "fold") fold();
      else if (laid.marks.length) {
        const n = laid.marks.length;
        jump(what === "next" ? (mark + 1) % n : (Math.max(mark, 0) - 1 + n) % n);
      }
    };
    document.addEventListener("prompt", act);
    return () => document.removeEventListener("prompt", act);
  });
  const needles = laid.marks.filter((m) => m.kind === "needle").length;
  return (
    <section class="prompt" aria-label="Prompt">
      <div class="prompt-bar">
        <h3>Prompt</h3>
        <span class="faint">{count(laid.length)} characters</span>
        <ul class="legend">
          {needles > 0 && (
            <li class="needle">
              {needles === 1 ? "needle" : `${needles} needles`} at{" "}
              {laid.marks
                .filter((m) => m.kind === "needle")
                .slice(0, 4)
                .map((m) => percent(m.start / Math.max(1, laid.length)))
                .join(", ")}
            </li>
          )}
          {spans.some((span) => span.role === "distractor") && <li class="distractor">distractor</li>}
          {laid.marks.some((m) => m.kind === "reference") && <li class="reference">reference</li>}
          {laid.marks.some((m) => m.kind === "answer") && <li class="given">model's answer</li>}
        </ul>
        <span class="spring" />
        <button class="quiet" onClick={fold} title="f" aria-pressed={everything}>
          {everything ? "Fold" : "Unfold all"}
        </button>
      </div>
      <Ruler laid={laid} jump={jump} current={mark} />
      <div class="body prose" ref={body} dir={laid.fromRight ? "rtl" : "ltr"}>
        {pieces(laid, shown, mark, (run) => setShown((old) => new Set([...old, ...run])))}
      </div>
    </section>
  );
}

function Ruler(props: { laid: Laid; jump: (index: number) => void; current: number }): JSX.Element {
  const { laid } = props;
  const at = (place: number) => (1000 * place) / Math.max(1, laid.length);
  const bands: { role: string; start: number; end: number }[] = [];
  for (const { role, start, text } of laid.pieces) {
    const last = bands.at(-1);
    if (last?.role === role) last.end = start + text.length;
    else bands.push({ role, start, end: start + text.length });
  }
  // Marks nearer than a tick's width are one, and what a needle holds is the needle's.
  const apart: number[] = [];
  laid.marks.forEach((mark, i) => {
    const last = apart.length ? laid.marks[apart.at(-1)!] : undefined;
    if (last?.kind === "needle" && mark.end <= last.end) return;
    if (mark.kind === "needle" || !last || at(mark.start) - at(last.start) > 9) apart.push(i);
  });
  return (
    <div class="ruler" role="group" aria-label="Marks by depth">
      <svg viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true">
        {bands
          .filter((band) => band.role !== "haystack")
          .map((band) => (
            <rect class={band.role} x={at(band.start)} y="0" height="10" width={Math.max(0.5, at(band.end) - at(band.start))} />
          ))}
      </svg>
      {apart.map((i) => {
        const { kind, label, start } = laid.marks[i];
        return (
          <button
            class={`tick ${kind} ${i === props.current ? "current" : ""}`}
            style={{ "--at": at(start) / 1000 }}
            title={`${label}, at ${percent(start / Math.max(1, laid.length))}`}
            aria-label={`${label}, at ${percent(start / Math.max(1, laid.length))}`}
            onClick={() => props.jump(i)}
          />
        );
      })}
    </div>
  );
}

/** The shown pieces, and a button for each run of folded ones. Each span has a direction of its own: an
 * Arabic needle in a Chinese haystack reads from the right. */
function pieces(
  laid: Laid,
  shown: Set<number>,
  current: number,
  unfold: (run: number[]) => void,
): ComponentChildren[] {
  const made: ComponentChildren[] = [];
  let run: number[] = [];
  const folded = () => {
    if (!run.length) return;
    const hidden = run;
    const size = hidden.reduce((sum, i) => sum + laid.pieces[i].text.length, 0);
    const first = laid.pieces[hidden[0]].start;
    const marks = laid.marks.filter((m) => m.start >= first && m.start < first + size).length;
    made.push(
      <span class="fold" key={`fold-${first}`} dir="ltr">
        <button class="quiet" onClick={() => unfold(hidden.slice(0, 20))}>
          {count(size)} characters folded{marks > 0 && `, ${marks} ${marks === 1 ? "mark" : "marks"}`}
        </button>
      </span>,
    );
    run = [];
  };
  let own: ComponentChildren[] = [];
  let span = -1;
  const ended = () => {
    // A span around a fold has several parts.
    if (own.length) made.push(<bdi key={`span-${span}-${made.length}`}>{own}</bdi>);
    own = [];
  };
  laid.pieces.forEach((piece, i) => {
    if (!shown.has(i)) {
      ended();
      run.push(i);
      return;
    }
    folded();
    if (piece.span !== span) ended();
    span = piece.span;
    own.push(<Shown key={i} piece={piece} marks={laid.marks} current={current} />);
  });
  ended();
  folded();
  return made;
}

const NAMED = new Set(["needle", "question", "instruction", "answer_format", "example"]);

function Shown(props: { piece: Piece; marks: Mark[]; current: number }): JSX.Element {
  const { piece, marks } = props;
  const { start, text, role, place } = piece;
  const end = start + text.length;
  const parts: ComponentChildren[] = [];
  let at = start;
  const whole = marks.findIndex((mark) => mark.kind === "needle" && mark.start <= start && mark.end > start);
  marks.forEach((mark, i) => {
    if (mark.kind === "needle" || mark.end <= at || mark.start >= end) return;
    const from = Math.max(at, mark.start);
    const to = Math.min(end, mark.end);
    parts.push(plain(text.slice(at - start, from - start)));
    parts.push(
      <mark class={`${mark.kind} ${i === props.current ? "current" : ""}`} data-mark={i} title={mark.label}>
        {plain(text.slice(from - start, to - start))}
      </mark>,
    );
    at = to;
  });
  parts.push(plain(text.slice(at - start)));
  const label = NAMED.has(role) && piece.first && text.trim() && (
    <span class={`role ${role}`} dir="ltr">
      {words(role)}
      {place[1] > 1 && role === "needle" ? ` ${place[0]} of ${place[1]}` : ""}
    </span>
  );
  return role === "needle" ? (
    <>
      {label}
      <mark class={`lit ${whole === props.current ? "current" : ""}`} data-mark={whole} aria-label="needle">
        {parts}
      </mark>
    </>
  ) : (
    <>
      {label}
      <span class={role}>{parts}</span>
    </>
  );
}
