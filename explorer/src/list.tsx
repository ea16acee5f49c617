// The answers as a grid of which only the rows in sight exist.

import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  Virtualizer,
} from "@tanstack/virtual-core";
import { useEffect, useLayoutEffect, useReducer, useRef, useState } from "preact/hooks";
import type { JSX } from "preact";
import { OF_REQUEST, type Benchmark } from "./data";
import type { State } from "./state";
import { count, plain, Score, words } from "./text";
import type { View } from "./view";

const ROW = 30;
// On a narrow page an answer is a card of five lines: these of the columns, and all factors in one.
const CARD = 116;
const NARROW = matchMedia("(max-width: 760px)");
const ON_CARD = ["value", "difference", "model", "verdict", "question", "reference", "answer"];

interface Shown {
  name: string;
  title: string;
  width: string;
  sortable: boolean;
  numeric?: boolean;
  factor?: boolean;
  cell: (row: number) => JSX.Element | string;
}

export function List(props: {
  data: Benchmark;
  state: State;
  view: View;
  metric: number;
  current: number;
  change: (state: Partial<State>) => void;
  select: (index: number, open: boolean) => void;
}): JSX.Element {
  const { data, state, view, metric, current, change, select } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  const [narrow, setNarrow] = useState(NARROW.matches);
  useEffect(() => {
    const follow = () => setNarrow(NARROW.matches);
    NARROW.addEventListener("change", follow);
    return () => NARROW.removeEventListener("change", follow);
  }, []);
  const height = narrow ? CARD : ROW;
  const [virtual] = useState(
    () =>
      new Virtualizer<HTMLDivElement, HTMLDivElement>({
        count: 0,
        getScrollElement: () => scroller.current,
        estimateSize: () => ROW,
        overscan: 12,
        scrollToFn: elementScroll,
        observeElementRect,
        observeElementOffset,
        onChange: () => redraw(0),
      }),
  );
  virtual.setOptions({ ...virtual.options, count: view.rows.length, estimateSize: () => height });
  useLayoutEffect(() => virtual.measure(), [height]);
  useLayoutEffect(() => virtual._didMount(), []);
  useLayoutEffect(() => virtual._willUpdate());
  useEffect(() => {
    if (current >= 0) virtual.scrollToIndex(current, { align: "auto" });
  }, [current, view.rows]);

  const every = shownColumns(data, state, view, metric);
  const factors: Shown = {
    name: "factors",
    title: "factors",
    width: "",
    sortable: false,
    cell: (row) =>
      every
        .filter(({ factor }) => factor)
        .map(({ title, cell }) => `${title} ${cell(row)}`)
        .join(" · "),
  };
  const columns = narrow ? [...every.filter(({ name }) => ON_CARD.includes(name)), factors] : every;
  const template = narrow ? {} : { gridTemplateColumns: columns.map((column) => column.width).join(" ") };
  const move = (event: KeyboardEvent) => {
    const page = Math.max(1, Math.floor((scroller.current?.clientHeight ?? height) / height) - 2);
    const steps: Record<string, number> = {
      ArrowDown: current + 1,
      ArrowUp: current - 1,
      PageDown: current + page,
      PageUp: current - page,
      Home: 0,
      End: view.rows.length - 1,
    };
    if (event.key in steps) {
      event.preventDefault();
      select(Math.max(0, Math.min(view.rows.length - 1, steps[event.key])), false);
    } else if (event.key === "Enter" && current >= 0) {
      event.preventDefault();
      select(current, true);
    }
  };
  return (
    <div
      class={narrow ? "list cards" : "list"}
      role="grid"
      aria-label="Answers"
      aria-rowcount={view.rows.length + 1}
      aria-colcount={columns.length}
      aria-activedescendant={current >= 0 ? `row-${current}` : undefined}
      tabIndex={0}
      ref={scroller}
      onKeyDown={move}
    >
      <div class="head" role="row" aria-rowindex={1} style={template}>
        {columns.map((column) => {
          const sorted = state.sort === column.name ? "ascending" : state.sort === `-${column.name}` ? "descending" : undefined;
          return (
            <div role="columnheader" aria-sort={sorted} class={column.numeric ? "numeric" : ""}>
              {column.sortable ? (
                <button
                  class="quiet"
                  tabIndex={-1}
                  onClick={() => change({ sort: sorted === "ascending" ? `-${column.name}` : column.name })}
                >
                  {column.title}
                  {sorted && <span aria-hidden="true">{sorted === "ascending" ? " ↑" : " ↓"}</span>}
                </button>
              ) : (
                column.title
              )}
            </div>
          );
        })}
      </div>
      <div class="rows" role="presentation" style={{ height: `${virtual.getTotalSize()}px` }}>
        {virtual.getVirtualItems().map((item) => {
          const row = view.rows[item.index];
          if (row === undefined) return null;
          return (
            <div
              key={item.index}
              id={`row-${item.index}`}
              role="row"
              aria-rowindex={item.index + 2}
              aria-selected={item.index === current}
              class={`row ${item.index === current ? "current" : ""}`}
              style={{ ...template, transform: `translateY(${item.start}px)` }}
              onClick={() => select(item.index, true)}
            >
              {columns.map((column) => (
                <div role="gridcell" class={`${column.name} ${column.numeric ? "numeric" : ""}`}>
                  {column.cell(row)}
                </div>
              ))}
            </div>
          );
        })}
      </div>
    </div>
  );
}

/** What tells the shown answers apart, and no more. */
function shownColumns(data: Benchmark, state: State, view: View, metric: number): Shown[] {
  const values = data.values(metric);
  const { partners } = view;
  const asked = (what: "question" | "reference", width: string): Shown => ({
    name: what,
    title: what,
    width,
    sortable: false,
    cell: (row) => <bdi>{plain(data.asked(row, what))}</bdi>,
  });
  const found: Shown[] = [
    { name: "value", title: "score", width: "64px", sortable: true, cell: (row) => <Score value={values[row]} /> },
  ];
  if (partners) {
    found.push({
      name: "difference",
      title: state.against,
      width: "90px",
      sortable: true,
      cell: (row) => <Score value={values[partners[row]]} />,
    });
  }
  const factors: Shown[] = [];
  for (const { dimension, counts } of view.facets) {
    const { name, labels } = dimension;
    if (OF_REQUEST.includes(name) || name === "task" || !(name === "model" || data.header.factors.includes(name)))
      continue;
    if (counts.filter(({ n }) => n > 0).length < 2 && !state.filters[name]) continue;
    if (state.filters[name]?.length === 1) continue;
    const longest = Math.max(words(name).length * 0.95, ...labels.map((label) => label.length));
    const column = {
      name,
      title: words(name),
      width: `${Math.min(150, 26 + 7 * longest)}px`,
      sortable: true,
      factor: name !== "model",
      cell: (row: number) => labels[dimension.code(row)],
    };
    if (name === "model") found.push(column);
    else factors.push(column);
  }
  // What was asked and said stands first: a narrow page cuts the rest.
  found.push(
    asked("question", "minmax(170px, 4fr)"),
    asked("reference", "minmax(90px, 2fr)"),
    {
      name: "answer",
      title: "answer",
      width: "minmax(180px, 4fr)",
      sortable: false,
      cell: (row) => {
        const text = data.preview(row).slice(0, 200);
        return text ? <bdi>{plain(text)}</bdi> : <span class="faint">{data.hasTexts ? "(empty)" : ""}</span>;
      },
    },
    {
      name: "verdict",
      title: "verdict",
      width: "142px",
      sortable: true,
      cell: (row) => (
        <span title={`${data.meaning(data.verdict(row, metric))} (${data.verdict(row, metric)})`}>
          {data.inWords(data.verdict(row, metric))}
        </span>
      ),
    },
    ...factors,
  );
  if (view.rows.some((row) => data.promptTokens(row) !== data.promptTokens(view.rows[0]))) {
    found.push({
      name: "tokens",
      title: "tokens",
      width: "76px",
      sortable: true,
      numeric: true,
      cell: (row) => (data.promptTokens(row) < 0 ? "" : count(data.promptTokens(row))),
    });
  }
  return found;
}
