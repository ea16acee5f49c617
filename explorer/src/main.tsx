// The page: what a reader chose stands in the address, and everything else follows from it.

import "./style.css";
import { render } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { JSX } from "preact";
import { Benchmark, type About } from "./data";
import { Detail } from "./detail";
import { Facets } from "./facets";
import { Heatmap } from "./heatmap";
import { List } from "./list";
import { EMPTY, format, parse, type State } from "./state";
import { count, percent, words } from "./text";
import { view } from "./view";

const KEYS: [string, string][] = [
  ["j, k", "next, previous answer"],
  ["Enter, o", "open the answer"],
  ["Esc", "back to all answers"],
  ["/", "search in the answers"],
  ["n, p", "next, previous mark in the prompt"],
  ["f", "unfold or fold the prompt"],
  ["w", "wrong answers first, or in order"],
  ["x", "clear all filters"],
  ["?", "this list"],
];

function App({ about }: { about: About }): JSX.Element {
  const [state, setState] = useState<State>(() => parse(location.hash));
  const [data, setData] = useState<Benchmark>();
  const [texts, setTexts] = useState(0);
  const [current, setCurrent] = useState(-1);
  const [failed, setFailed] = useState("");
  const [narrow, setNarrow] = useState(false);
  const help = useRef<HTMLDialogElement>(null);
  const info = about.benchmarks.find((b) => b.name === state.benchmark) ?? about.benchmarks[0];

  const change = (some: Partial<State>) => setState((old) => ({ ...old, ...some, opening: false }));

  useLayoutEffect(() => {
    const wanted = format(state);
    if (wanted !== location.hash && !(wanted === "#" && !location.hash)) history.replaceState(null, "", wanted);
  }, [state]);
  useEffect(() => {
    const follow = () => setState(parse(location.hash));
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);

  useEffect(() => {
    let wanted = true;
    Benchmark.load(about, info)
      .then(async (found) => {
        if (!wanted) return;
        setData(found);
        setCurrent(-1);
        await found.loadTexts();
        if (wanted) setTexts((n) => n + 1);
      })
      .catch((error: Error) => wanted && setFailed(error.message));
    return () => {
      wanted = false;
    };
  }, [info]);

  const ready = data?.info === info ? data : undefined;
  const metric = ready ? Math.max(0, ready.metrics.findIndex(({ name }) => name === state.metric)) : 0;
  const { open, opening, ...filtering } = state;
  const first = useMemo(() => ready?.opening() ?? {}, [ready]);
  const waits = opening && Object.keys(first).length > 0;
  useLayoutEffect(() => {
    if (waits) change({ filters: first });
  }, [waits, first]);
  const shown = useMemo(
    () => (ready && !waits ? view(ready, state, metric) : undefined),
    [ready, metric, texts, waits, JSON.stringify(filtering)],
  );
  const openRow = useMemo(() => (ready && open ? ready.find(open) : -1), [ready, open]);
  const place = useMemo(
    () => (shown && openRow >= 0 ? shown.rows.indexOf(openRow) : -1),
    [shown, openRow],
  );
  const selected = place >= 0 ? place : Math.min(current, (shown?.rows.length ?? 0) - 1);

  const select = (index: number, opening: boolean) => {
    if (!shown || !ready || index < 0 || index >= shown.rows.length) return;
    setCurrent(index);
    if (opening || open) change({ open: ready.address(shown.rows[index]) });
  };

  // Who closes an answer goes on in the list.
  const wasOpen = useRef(false);
  useEffect(() => {
    if (wasOpen.current && !open) document.querySelector<HTMLElement>(".list")?.focus();
    wasOpen.current = Boolean(open);
  }, [open]);

  // Before the next key, so that keys typed fast act on what they see.
  useLayoutEffect(() => {
    const act = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "Escape") {
        if (target.matches("input")) target.blur();
        else if (help.current?.open) return;
        else if (narrow) setNarrow(false);
        else if (open) change({ open: "" });
        return;
      }
      if (target.matches("input[type=search], select, textarea") || help.current?.open) return;
      const prompt = (what: string) => document.dispatchEvent(new CustomEvent("prompt", { detail: what }));
      const acts: Record<string, () => void> = {
        j: () => select(selected + 1, false),
        k: () => select(selected - 1, false),
        o: () => select(Math.max(0, selected), true),
        ...(target === document.body && { Enter: () => select(Math.max(0, selected), true) }),
        "/": () => {
          setNarrow(true);
          requestAnimationFrame(() => document.getElementById("search")?.focus());
        },
        n: () => prompt("next"),
        p: () => prompt("previous"),
        f: () => prompt("fold"),
        w: () => change({ sort: state.sort === "value" ? "order" : "value" }),
        x: () => change({ filters: {}, query: "", against: "", differ: false }),
        "?": () => help.current?.showModal(),
      };
      if (event.key in acts) {
        event.preventDefault();
        acts[event.key]();
      }
    };
    addEventListener("keydown", act);
    return () => removeEventListener("keydown", act);
  });

  const total = shown?.total;
  const filters = Object.entries(state.filters);
  return (
    <div class={`app ${openRow >= 0 ? "opened" : ""} ${narrow ? "filters-shown" : ""}`}>
      <header class="top">
        <h1>needlework</h1>
        <nav aria-label="Benchmarks">
          {about.benchmarks.map((b) => (
            <button
              aria-current={b === info ? "page" : undefined}
              onClick={() => setState({ ...EMPTY, filters: {}, opening: true, benchmark: b.name })}
            >
              {b.title}
            </button>
          ))}
        </nav>
        <span class="spring" />
        {ready && ready.metrics.length > 1 && (
          <label class="metric">
            metric{" "}
            <select
              value={ready.metrics[metric].name}
              onChange={(event) => change({ metric: event.currentTarget.value })}
            >
              {ready.metrics.map(({ name }) => (
                <option value={name}>{words(name)}</option>
              ))}
            </select>
          </label>
        )}
        <button class="quiet filters-button" aria-expanded={narrow} onClick={() => setNarrow(!narrow)}>
          Filters{filters.length ? ` (${filters.length})` : ""}
        </button>
        <button class="quiet" onClick={() => help.current?.showModal()} aria-label="keys" title="?">
          ?
        </button>
      </header>
      {failed && (
        <p class="failed" role="alert">
          {failed} Copy the whole folder again, with the folder data beside this page.
        </p>
      )}
      {ready && shown && total && (
        <>
          <aside aria-label="Filters">
            <Facets data={ready} state={state} view={shown} change={change} />
          </aside>
          <main>
            <div class="overview">
              <div class="summary">
                <p role="status">
                  <b>{count(shown.rows.length)}</b> of {count(ready.n)} answers
                  {total.scored > 0 && (
                    <>
                      {" "}
                      · mean <b>{percent(total.sum / total.scored)}</b> · {count(total.questions)}{" "}
                      {total.questions === 1 ? "question" : "questions"}
                    </>
                  )}
                  {total.scored < shown.rows.length && (
                    <> · {count(shown.rows.length - total.scored)} not scored by this metric</>
                  )}
                </p>
                {filters.map(([name, labels]) => (
                  <button
                    class="filter"
                    title="remove this filter"
                    onClick={() => {
                      const left = { ...state.filters };
                      delete left[name];
                      change({ filters: left });
                    }}
                  >
                    {words(name)}: {labels.slice(0, 3).map((label) => ready.written(name, label)).join(", ")}
                    {labels.length > 3 && ` +${labels.length - 3}`} <span aria-hidden="true">×</span>
                  </button>
                ))}
              </div>
              {shown.heatmap && (
                <Heatmap
                  heatmap={shown.heatmap}
                  facets={shown.facets.map(({ dimension }) => dimension)}
                  state={state}
                  change={change}
                />
              )}
              {shown.rows.length ? (
                <List
                  data={ready}
                  state={state}
                  view={shown}
                  metric={metric}
                  current={selected}
                  change={change}
                  select={select}
                />
              ) : (
                <p class="nothing-found">
                  No answer passes these filters.{" "}
                  <button class="quiet" onClick={() => change({ filters: {}, query: "", differ: false })}>
                    Clear them
                  </button>
                </p>
              )}
            </div>
            {openRow >= 0 && (
              <Detail
                data={ready}
                row={openRow}
                metric={metric}
                state={state}
                place={[place, shown.rows.length]}
                close={() => change({ open: "" })}
                step={(by) => select(selected + by, true)}
              />
            )}
          </main>
        </>
      )}
      <dialog ref={help} aria-labelledby="keys-title">
        <h2 id="keys-title">Keys</h2>
        <dl>
          {KEYS.map(([keys, what]) => (
            <div>
              <dt>
                <kbd>{keys}</kbd>
              </dt>
              <dd>{what}</dd>
            </div>
          ))}
        </dl>
        <p class="faint">
          The address says what is shown: send it, or keep it. A click on a cell of the heatmap filters by
          both of its factors. needlework {about.version}
        </p>
        <form method="dialog">
          <button>Close</button>
        </form>
      </dialog>
    </div>
  );
}

const about = JSON.parse(document.getElementById("about")!.textContent!) as About;
const page = document.getElementById("page")!;
page.textContent = "";
render(<App about={about} />, page);
