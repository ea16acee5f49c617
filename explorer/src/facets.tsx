// What filters: a search in the answers, and a list of values for each factor.

import { useState } from "preact/hooks";
import type { JSX } from "preact";
import type { Benchmark } from "./data";
import type { State } from "./state";
import { count, percent, words } from "./text";
import type { Counted, View } from "./view";

const FEW = 8;

export function Facets(props: {
  data: Benchmark;
  state: State;
  view: View;
  change: (state: Partial<State>) => void;
}): JSX.Element {
  const { data, state, view, change } = props;
  const set = (name: string, labels: string[]) => {
    const filters = { ...state.filters };
    if (labels.length) filters[name] = labels;
    else delete filters[name];
    change({ filters });
  };
  return (
    <form class="facets" onSubmit={(event) => event.preventDefault()}>
      <label class="search">
        <span>Text in the answer</span>
        <input
          id="search"
          type="search"
          value={state.query}
          placeholder={`in the first ${count(data.header.preview)} characters`}
          onInput={(event) => change({ query: event.currentTarget.value })}
        />
      </label>
      {data.info.models.length > 1 && (
        <div class="against">
          <label>
            <span>Compare with</span>
            <select
              value={state.against}
              onChange={(event) => change({ against: event.currentTarget.value, differ: false })}
            >
              <option value="">no other model</option>
              {data.info.models.map((model) => (
                <option value={model}>{model}</option>
              ))}
            </select>
          </label>
          {state.against && (
            <label class="check">
              <input
                type="checkbox"
                checked={state.differ}
                onChange={(event) => change({ differ: event.currentTarget.checked })}
              />
              only where they differ
            </label>
          )}
        </div>
      )}
      {view.facets.map(({ dimension, counts }) => (
        <Facet
          key={dimension.name}
          name={dimension.name}
          labels={dimension.labels}
          written={dimension.written ?? dimension.labels}
          title={(code) =>
            (dimension.name === "verdict" && data.meaning(dimension.labels[code])) ||
            (dimension.written ?? dimension.labels)[code]
          }
          order={dimension.order}
          counts={counts}
          chosen={state.filters[dimension.name] ?? []}
          set={set}
        />
      ))}
    </form>
  );
}

function Facet(props: {
  name: string;
  labels: string[];
  written: string[];
  title: (code: number) => string;
  order: number[];
  counts: Counted[];
  chosen: string[];
  set: (name: string, labels: string[]) => void;
}): JSX.Element | null {
  const { name, labels, counts, chosen } = props;
  const [all, setAll] = useState(false);
  let order = props.order.filter((code) => counts[code].n > 0 || chosen.includes(labels[code]));
  if (name === "verdict") order = [...order].sort((a, b) => counts[b].n - counts[a].n);
  // One value tells nothing apart.
  if (order.length < 2 && !chosen.length) return null;
  const shown = all ? order : order.filter((code, i) => i < FEW || chosen.includes(labels[code]));
  return (
    <fieldset>
      <legend>
        {words(name)}
        {chosen.length > 0 && (
          <button
            type="button"
            class="quiet"
            aria-label={`clear the filter ${words(name)}`}
            onClick={() => props.set(name, [])}
          >
            clear
          </button>
        )}
      </legend>
      {shown.map((code) => {
        const { n, scored, sum } = counts[code];
        const label = labels[code];
        const id = `f-${name}-${code}`;
        return (
          <div class={`value ${chosen.length && !chosen.includes(label) ? "off" : ""}`}>
            <input
              type="checkbox"
              id={id}
              checked={chosen.includes(label)}
              onChange={() =>
                props.set(
                  name,
                  chosen.includes(label) ? chosen.filter((other) => other !== label) : [...chosen, label],
                )
              }
            />
            <label for={id} title={props.title(code)}>
              <span class="label" dir="auto">
                {props.written[code]}
              </span>
              <span class="n">{count(n)}</span>
              {name !== "verdict" && (
                <span class="mean" title="mean value" style={{ "--mean": scored ? sum / scored : 0 }}>
                  {scored ? percent(sum / scored) : "–"}
                </span>
              )}
            </label>
          </div>
        );
      })}
      {order.length > FEW && (
        <button type="button" class="quiet more" onClick={() => setAll(!all)}>
          {all ? "fewer" : `all ${order.length}`}
        </button>
      )}
    </fieldset>
  );
}
