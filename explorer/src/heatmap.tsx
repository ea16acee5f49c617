// Means by two factors; a click filters by both.

import type { JSX } from "preact";
import type { Dimension } from "./data";
import type { State } from "./state";
import { count, percent, words } from "./text";
import { axis, cell, type View } from "./view";

const MOST = 40;
/** A mean of fewer answers says little: it is grey. */
const FEW = 10;

export function Heatmap(props: {
  heatmap: NonNullable<View["heatmap"]>;
  facets: Dimension[];
  state: State;
  change: (state: Partial<State>) => void;
}): JSX.Element {
  const { heatmap, state, change } = props;
  const { rows, columns, cells, delta } = heatmap;
  const choices = props.facets.filter(axis);
  const used = (dimension: Dimension, axis: "row" | "column") =>
    dimension.order
      .filter((code) => {
        for (const key of cells.keys()) {
          if ((axis === "row" ? Math.floor(key / 65536) : key % 65536) === code) return true;
        }
        return false;
      })
      .slice(0, MOST);
  const down = used(rows, "row");
  const across = used(columns, "column");
  const filter = (row: number, column: number) => {
    const own = { [rows.name]: [rows.labels[row]], [columns.name]: [columns.labels[column]] };
    const set = Object.entries(own).every(([name, [label]]) => {
      const now = state.filters[name];
      return now?.length === 1 && now[0] === label;
    });
    const filters = { ...state.filters, ...own };
    if (set) for (const name of Object.keys(own)) delete filters[name];
    change({ filters });
  };
  const choose = (key: "rows" | "columns", value: string) =>
    // The two change places rather than be the same.
    change(
      key === "rows"
        ? { rows: value, columns: value === columns.name ? rows.name : columns.name }
        : { columns: value, rows: value === rows.name ? columns.name : rows.name },
    );
  const select = (key: "rows" | "columns", value: string) => (
    <select
      aria-label={`heatmap ${key}`}
      value={value}
      onChange={(event) => choose(key, event.currentTarget.value)}
    >
      {choices.map((d) => (
        <option value={d.name}>{words(d.name)}</option>
      ))}
    </select>
  );
  return (
    <section class="heatmap" aria-label="Heatmap">
      <div class="axes">
        <span>{delta ? "mean difference in points, " : "mean in %, "}</span>
        {select("rows", rows.name)}
        <span>by</span>
        {select("columns", columns.name)}
        <span>below each, the number of answers; grey: fewer than {FEW}</span>
      </div>
      <div class="scroll" tabIndex={0} role="region" aria-label="Heatmap cells">
        <table>
          <thead>
            <tr>
              <td class="corner" />
              {across.map((column) => (
                <th scope="col">{columns.labels[column]}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {down.map((row) => (
              <tr>
                <th scope="row" dir="auto">
                  {rows.labels[row]}
                </th>
                {across.map((column) => {
                  const own = cells.get(cell(row, column));
                  if (!own) return <td class="nothing" />;
                  const mean = own.sum / own.n;
                  const shown = delta ? signed(mean) : percent(mean);
                  const name = `${rows.labels[row]}, ${columns.labels[column]}: ${shown}, ${count(own.n)} answers`;
                  return (
                    <td>
                      <button
                        class={own.n < FEW ? "few" : colour(mean, delta)}
                        title={name}
                        onClick={() => filter(row, column)}
                      >
                        {delta ? signed(mean) : Math.round(100 * mean)} <small>{count(own.n)}</small>
                      </button>
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {(down.length === MOST || across.length === MOST) && (
        <p class="note">The first {MOST} values are shown.</p>
      )}
    </section>
  );
}

function signed(mean: number): string {
  const rounded = Math.round(100 * mean);
  return rounded > 0 ? `+${rounded}` : rounded < 0 ? `−${-rounded}` : "0";
}

/** One of eleven shades: of a mean from 0 to 1, or of a difference from -1 to 1. */
function colour(mean: number, delta: boolean): string {
  return delta ? `d${Math.round(5 * mean) + 5}` : `h${Math.round(10 * mean)}`;
}
