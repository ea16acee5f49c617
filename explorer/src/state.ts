// What a reader chose, and the part of the address that says it.

export interface State {
  benchmark: string;
  metric: string;
  /** Labels by dimension; a dimension without an entry is not filtered. */
  filters: Record<string, string[]>;
  query: string;
  /** The model that answers are held against, and whether only disagreements are shown. */
  against: string;
  differ: boolean;
  rows: string;
  columns: string;
  /** A column's name, with "-" before it where the largest comes first. */
  sort: string;
  open: string;
  /** Nothing was chosen: the page opens on the benchmark's own question. */
  opening: boolean;
}

export const EMPTY: State = {
  benchmark: "",
  metric: "",
  filters: {},
  query: "",
  against: "",
  differ: false,
  rows: "",
  columns: "",
  sort: "value",
  open: "",
  opening: false,
};

const SHORT: [keyof State, string][] = [
  ["benchmark", "b"],
  ["metric", "m"],
  ["query", "q"],
  ["against", "vs"],
  ["rows", "rows"],
  ["columns", "cols"],
  ["sort", "sort"],
  ["open", "open"],
];

export function parse(hash: string): State {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const state: State = { ...EMPTY, filters: {} };
  for (const [key, short] of SHORT) {
    const value = given.get(short);
    if (value !== null) (state as unknown as Record<string, string>)[key] = value;
  }
  state.differ = given.has("differ");
  // Anyone writes an address: `f.constructor` is a name as others.
  const filters = new Map<string, string[]>();
  for (const [key, value] of given) {
    if (!key.startsWith("f.")) continue;
    const name = key.slice(2);
    filters.set(name, [...(filters.get(name) ?? []), value]);
  }
  state.filters = Object.fromEntries(filters);
  state.opening = [...given.keys()].every((key) => key === "b");
  return state;
}

export function format(state: State): string {
  const said = new URLSearchParams();
  for (const [key, short] of SHORT) {
    if (state[key] !== EMPTY[key]) said.set(short, String(state[key]));
  }
  if (state.differ) said.set("differ", "1");
  for (const [name, labels] of Object.entries(state.filters)) {
    for (const label of labels) said.append(`f.${name}`, label);
  }
  // All answers are a choice too.
  if (!state.opening && [...said.keys()].every((key) => key === "b")) said.set("all", "1");
  return `#${said}`;
}
