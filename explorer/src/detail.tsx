// One instance: what was asked, what every model answered, and the prompt with its needle lit.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ComponentChildren, JSX } from "preact";
import type { Benchmark, Detail as Facts } from "./data";
import { initial, lay, occurrences, type Laid, type Mark, type Piece, type Span } from "./prompt";
import type { State } from "./state";
import { count, Long, percent, plain, Score, words } from "./text";

export function Detail(props: {
  data: Benchmark;
  row: number;
  metric: number;
  state: State;
  place: [number, number];
  close: () => void;
  step: (by: number) => void;
}): JSX.Element {
  const { data, row, metric, place } = props;
  const [loaded, setLoaded] = useState<{ row: number; facts: Facts; spans: Span[] }>();
  const [failed, setFailed] = useState("");
  const [copied, setCopied] = useState(false);
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    let current = true;
    setFailed("");
    setCopied(false);
    (async () => {
      const facts = await data.detail(row);
      const spans = await data.spans(facts);
      if (current) setLoaded({ row, facts, spans });
    })().catch((error: Error) => current && setFailed(error.message));
    return () => {
      current = false;
    };
  }, [data, row]);
  useEffect(() => heading.current?.focus({ preventScroll: true }), []);
  const factors = data.facets(metric).filter((d) => !d.ofAnswer && d.name !== "task");
  const task = data.header.columns.indexOf("task");
  return (
    <section class="detail" aria-label="One instance">
      <header>
        <div class="bar">
          <button class="quiet" onClick={props.close} title="Esc">
            ← All answers
          </button>
          <span class="where">
            {place[0] >= 0 ? `${count(place[0] + 1)} of ${count(place[1])}` : "outside the filters"}
          </span>
          <span class="spring" />
          <button
            class="quiet"
            onClick={() => void navigator.clipboard?.writeText(location.href).then(() => setCopied(true))}
          >
            {copied ? "copied" : "Copy link"}
          </button>
          <button class="step" onClick={() => props.step(-1)} aria-label="previous answer" title="k">
            ↑
          </button>
          <button class="step" onClick={() => props.step(1)} aria-label="next answer" title="j">
            ↓
          </button>
        </div>
        <h2 tabIndex={-1} ref={heading}>
          {task >= 0 && words(String(data.header.values[task][taskCode(data, row)]))}{" "}
          <small>{data.example(row)}</small>
        </h2>
        <dl class="chips">
          {factors.map((d) => (
            <div>
              <dt>{words(d.name)}</dt>
              <dd>{d.labels[d.code(row)]}</dd>
            </div>
          ))}
          {data.promptTokens(row) >= 0 && (
            <div>
              <dt>prompt tokens</dt>
              <dd>{count(data.promptTokens(row))}</dd>
            </div>
          )}
        </dl>
      </header>
      {failed ? (
        <p class="failed" role="alert">
          {failed}
        </p>
      ) : loaded?.row === row ? (
        <Loaded {...props} facts={loaded.facts} spans={loaded.spans} />
      ) : (
        <p class="faint">…</p>
      )}
    </section>
  );
}

function taskCode(data: Benchmark, row: number): number {
  return data.facets(0).find((d) => d.name === "task")?.code(row) ?? 0;
}

function Loaded(props: {
  data: Benchmark;
  row: number;
  metric: number;
  state: State;
  facts: Facts;
  spans: Span[];
}): JSX.Element {
  const { data, row, facts, spans } = props;
  // Some prompts ask before and after the haystack, in the same words.
  const asked = spans.filter((span) => span.role === "question").map((span) => span.text.trim());
  const question = [...new Set(asked)].join("\n");
  const siblings = useMemo(() => {
    const all = data.siblings(row);
    // The one that was opened first, then the one it is compared with.
    const weight = (other: number) =>
      other === row ? 0 : data.info.models[data.model[other]] === props.state.against ? 1 : 2;
    return [...all].sort((a, b) => weight(a) - weight(b) || a - b);
  }, [data, row, props.state.against]);
  const own = facts.answers.find(
    (answer) => answer.model === data.model[row] && answer.sample === data.sample(row),
  );
  return (
    <>
      <section class="asked">
        <div>
          <h3>Question</h3>
          {question ? <Long text={question} /> : <p class="faint">no question of its own</p>}
        </div>
        <div>
          <h3>
            {facts.references.length === 1 ? "Reference" : `References (${facts.references.length})`}
          </h3>
          <ul class="references">
            {facts.references.slice(0, 60).map((reference) => (
              <li>
                <bdi>{plain(reference)}</bdi>
              </li>
            ))}
          </ul>
          {facts.references.length > 60 && <p class="faint">and {facts.references.length - 60} more</p>}
        </div>
      </section>
      <section aria-label="Answers to this instance">
        <h3>{siblings.length > 1 ? `Answers (${siblings.length})` : "Answer"}</h3>
        <div class="answers">
          {siblings.map((other) => (
            <Answer {...props} key={other} row={other} first={other === row} facts={facts} sameAs={row} />
          ))}
        </div>
      </section>
      <Prompt key={facts.id} spans={spans} references={facts.references} answer={own?.text ?? ""} />
      <footer class="facts">
        <span>
          instance <code>{facts.id}</code>
        </span>
        <span>
          metric {facts.metric}, at most {count(facts.limit)} new tokens
        </span>
      </footer>
    </>
  );
}

function Answer(props: {
  data: Benchmark;
  row: number;
  sameAs: number;
  metric: number;
  facts: Facts;
  first: boolean;
}): JSX.Element {
  const { data, row, metric, first } = props;
  const here = data.instance[row] === data.instance[props.sameAs];
  const [other, setOther] = useState<Facts>();
  useEffect(() => {
    if (!here) void data.detail(row).then(setOther);
  }, [data, row, here]);
  const facts = here ? props.facts : other;
  const own = facts?.answers.find((a) => a.model === data.model[row] && a.sample === data.sample(row));
  const text = own?.text ?? "";
  const ranges = useMemo(() => merged(props.facts.references, text.slice(0, 100000)), [text, props.facts]);
  const verdict = data.verdict(row, metric);
  const meaning = data.about.meanings[verdict.split(":")[0]];
  const tokens: [string, number][] = [];
  for (const [name, column] of Object.entries(data.tokens)) {
    if (column && column[row] >= 0) tokens.push([name.replace("_tokens", ""), column[row]]);
  }
  const others = data.metrics.flatMap(({ name, values }, i) =>
    i !== metric && !Number.isNaN(values[row]) ? [{ name, i, value: values[row] }] : [],
  );
  return (
    <section class={`answer-card ${first ? "first" : ""}`} aria-label={`Answer of ${data.info.models[data.model[row]]}`}>
      <h4>
        <Score value={data.values(metric)[row]} /> {data.info.models[data.model[row]]}
        {data.sample(row) > 0 && <small> sample {data.sample(row)}</small>}
        {!here && <small> in another tokenizer's prompt</small>}
      </h4>
      {text ? (
        <Long text={text} ranges={ranges} />
      ) : (
        <p class="faint">{facts ? (own?.error ? "" : "(empty)") : "…"}</p>
      )}
      {own?.error && (
        <div class="failed">
          <Long text={own.error} />
        </div>
      )}
      {own?.translation !== undefined && (
        <details open>
          <summary>In English{own.lang ? ` (from ${own.lang})` : ""}</summary>
          <Long text={own.translation} ranges={merged(props.facts.references, own.translation.slice(0, 100000))} />
        </details>
      )}
      {own?.raw && (
        <details>
          <summary>All that it wrote, with its thoughts: {count(own.raw.length)} characters</summary>
          <Long text={own.raw} />
        </details>
      )}
      <p class="why">
        <code>{verdict}</code> {meaning}
        {others.map(({ name, i, value }) => (
          <span class="other">
            {name}: <Score value={value} /> <code>{data.verdict(row, i)}</code>
          </span>
        ))}
      </p>
      <p class="counts">
        <span>ended with {data.header.finish[data.finish[row]]}</span>
        {tokens.map(([name, n]) => (
          <span>
            {count(n)} {name}
          </span>
        ))}
        {tokens.length > 0 && <span>tokens</span>}
      </p>
    </section>
  );
}

/** Where references stand in an answer, in order and without overlaps. */
function merged(references: string[], text: string): [number, number][] {
  const all = references
    .filter((reference) => reference.trim().length > 1 && reference.length < 300)
    .slice(0, 60)
    .flatMap((reference) => occurrences(text, reference.trim()))
    .sort((a, b) => a[0] - b[0] || b[1] - a[1]);
  let end = 0;
  return all.filter(([start, stop]) => start >= end && (end = stop) > 0);
}

function Prompt(props: { spans: Span[]; references: string[]; answer: string }): JSX.Element {
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
