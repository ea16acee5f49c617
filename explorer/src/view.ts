// Which answers a state shows, in which order, and what facets and the heatmap count of them.

import { OF_REQUEST, type Benchmark, type Dimension } from "./data";
import type { State } from "./state";

export interface Counted {
  n: number;
  /** How many of them have a value under the metric, and the sum of these. */
  scored: number;
  sum: number;
}

export interface View {
  rows: Uint32Array;
  /** For each facet, its codes' answers under all other filters. */
  facets: { dimension: Dimension; counts: Counted[] }[];
  heatmap: { rows: Dimension; columns: Dimension; cells: Map<number, Counted>; delta: boolean } | null;
  total: { scored: number; sum: number; questions: number };
  partners: Int32Array | null;
}

/** A heatmap cell's key. */
export const cell = (row: number, column: number): number => row * 65536 + column;

const blank = (size: number): Counted[] => Array.from({ length: size }, () => ({ n: 0, scored: 0, sum: 0 }));

export function view(data: Benchmark, state: State, metric: number): View {
  const facets = data.facets(metric);
  const values = data.values(metric);
  const against = data.info.models.indexOf(state.against);
  const partners = against < 0 ? null : data.partners(against);
  const hits = state.query && data.hasTexts ? data.matching(state.query) : null;
  // An address can filter by what has one value, or too many to be listed, and by what is not there.
  const named = Object.keys(state.filters);
  const every = [...facets, ...data.dimensions.filter((d) => named.includes(d.name) && !facets.includes(d))];
  const nothing = named.some((name) => !every.some((d) => d.name === name));
  const allowed = every.map((d) => {
    const labels = state.filters[d.name];
    if (!labels) return null;
    const set = new Uint8Array(d.labels.length);
    d.labels.forEach((label, code) => (set[code] = Number(labels.includes(label))));
    return set;
  });
  const filtered = allowed.flatMap((set, i) => (set ? [i] : []));
  const counts = every.map((d) => blank(d.labels.length));
  const chosen = new Uint32Array(data.n);
  let shown = 0;
  for (let row = 0; row < data.n && !nothing; row++) {
    if (hits && !hits[data.textCode(row)]) continue;
    if (partners) {
      if (data.model[row] === against || partners[row] < 0) continue;
      if (state.differ && values[row] === values[partners[row]]) continue;
    }
    let refused = -1;
    let refusals = 0;
    for (const i of filtered) {
      if (!allowed[i]![every[i].code(row)]) {
        refused = i;
        if (++refusals > 1) break;
      }
    }
    if (refusals > 1) continue;
    const value = values[row];
    // Not scored under this metric: it is counted among the facets, not in means.
    const scored = !Number.isNaN(value);
    if (refusals === 1) {
      const own = counts[refused][every[refused].code(row)];
      own.n++;
      if (scored) {
        own.scored++;
        own.sum += value;
      }
      continue;
    }
    chosen[shown++] = row;
    for (let i = 0; i < facets.length; i++) {
      const own = counts[i][facets[i].code(row)];
      own.n++;
      if (scored) {
        own.scored++;
        own.sum += value;
      }
    }
  }
  const rows = chosen.slice(0, shown);
  const total = { scored: 0, sum: 0, questions: 0 };
  const questions = new Set<number>();
  for (const row of rows) {
    questions.add(data.exampleCode(row));
    if (!Number.isNaN(values[row])) {
      total.scored++;
      total.sum += values[row];
    }
  }
  total.questions = questions.size;
  return {
    rows: sorted(data, rows, state, metric, partners),
    facets: facets.map((dimension, i) => ({ dimension, counts: counts[i] })),
    heatmap: heatmap(rows, axes(data, facets, rows, state), values, partners),
    total,
    partners,
  };
}

/** What a heatmap can have as its axes. */
export const axis = (dimension: Dimension): boolean =>
  dimension.name === "model" || !OF_REQUEST.includes(dimension.name);

/** The two factors of the heatmap: what the state names, else the models by the factor that the benchmark
 * was made to vary, or by the first of what was asked that tells the shown answers apart. */
function axes(
  data: Benchmark,
  facets: Dimension[],
  shown: Uint32Array,
  state: State,
): [Dimension, Dimension] | null {
  const usable = facets.filter(axis);
  const named = (name: string, not?: Dimension) => usable.find((d) => d !== not && d.name === name);
  const varies = (d: Dimension) => shown.some((row) => d.code(row) !== d.code(shown[0]));
  const rows = named(state.rows) ?? named("model") ?? usable[0];
  const designed = [data.info.designed.factor, ...data.header.factors.filter((name) => name !== "task"), "task"];
  const others = designed.flatMap((name) => named(name, rows) ?? []);
  const columns =
    named(state.columns, rows) ?? others.find(varies) ?? others[0] ?? usable.find((d) => d !== rows);
  return rows && columns ? [rows, columns] : null;
}

function heatmap(
  chosen: Uint32Array,
  found: [Dimension, Dimension] | null,
  values: Float32Array,
  partners: Int32Array | null,
): View["heatmap"] {
  if (!found) return null;
  const [rows, columns] = found;
  const cells = new Map<number, Counted>();
  for (const row of chosen) {
    const value = partners ? values[row] - values[partners[row]] : values[row];
    if (Number.isNaN(value)) continue;
    const key = cell(rows.code(row), columns.code(row));
    let own = cells.get(key);
    if (!own) cells.set(key, (own = { n: 0, scored: 0, sum: 0 }));
    own.n++;
    own.sum += value;
  }
  return { rows, columns, cells, delta: partners !== null };
}

function sorted(
  data: Benchmark,
  rows: Uint32Array,
  state: State,
  metric: number,
  partners: Int32Array | null,
): Uint32Array {
  const down = state.sort.startsWith("-");
  const name = down ? state.sort.slice(1) : state.sort;
  const values = data.values(metric);
  const dimension = data.facets(metric).find((d) => d.name === name);
  const rank = dimension && Uint32Array.from(dimension.labels, (_, code) => dimension.order.indexOf(code));
  let key: (row: number) => number;
  if (name === "value") key = (row) => (Number.isNaN(values[row]) ? 2 : values[row]);
  else if (name === "difference" && partners) key = (row) => values[row] - values[partners[row]];
  else if (name === "tokens") key = (row) => data.promptTokens(row);
  else if (dimension && rank) key = (row) => rank[dimension.code(row)];
  else return rows;
  // Equal keys stay in the order of the benchmark.
  const keys = Float64Array.from(rows, key);
  const order = Uint32Array.from(rows, (_, i) => i);
  order.sort((a, b) => (down ? keys[b] - keys[a] : keys[a] - keys[b]) || a - b);
  return order.map((i) => rows[i]);
}
