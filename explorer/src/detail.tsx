// One instance: what was asked, what every model answered, and the prompt with its needle lit.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { JSX } from "preact";
import type { Benchmark, Detail as Facts } from "./data";
import { occurrences, type Span } from "./prompt";
import { Prompt } from "./prompt-view";
import type { State } from "./state";
import { count, Long, plain, Score, words } from "./text";

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
  const [outcome, became] = data.outcome(row);
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
      {own?.reasoning && (
        <details>
          <summary>Its reasoning, beside an empty answer: {count(own.reasoning.length)} characters</summary>
          <Long text={own.reasoning} />
        </details>
      )}
      {own?.raw && (
        <details>
          <summary>All that it wrote, with its thoughts: {count(own.raw.length)} characters</summary>
          <Long text={own.raw} />
        </details>
      )}
      {(outcome !== "answered" || own?.remarks) && (
        <ul class="outcome">
          {outcome !== "answered" && <li>{became}</li>}
          {own?.remarks?.map((remark) => {
            const [kind, ...said] = remark.split(": ");
            return (
              <li>
                {data.remarks(kind)}
                {said.length > 0 && <>: {plain(said.join(": "))}</>}
              </li>
            );
          })}
        </ul>
      )}
      <p class="why">
        {data.meaning(verdict)} <code>{verdict}</code>
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
