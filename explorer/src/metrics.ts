// Values and verdicts of answers, by metric.

import type { Codes, Column } from "./shards";

/** Values and verdicts of all answers; where no answer has two metrics, of whichever it has. */
export interface Metric {
  name: string;
  values: Float32Array;
  verdicts: Codes;
}

/** The metrics to choose from, and which of the first ones an answer has. Those of which no answer has two are
 * one, the first: best subspan EM of questions and the accuracy of pairs, beside a verdict that both have. */
export function headlineMetrics(
  names: string[],
  arrays: Record<string, Column>,
): { metrics: Metric[]; names: string[]; codes: Uint8Array } {
  const metrics = names.map((name, i) => ({
    name,
    values: arrays[`value${i}`] as Float32Array,
    verdicts: arrays[`verdict${i}`] as Codes,
  }));
  const n = metrics[0].values.length;
  const which = new Int16Array(n).fill(-1);
  const merged: number[] = [];
  metrics.forEach(({ values }, i) => {
    for (let row = 0; row < n; row++) if (which[row] >= 0 && !Number.isNaN(values[row])) return;
    for (let row = 0; row < n; row++) if (!Number.isNaN(values[row])) which[row] = merged.length;
    merged.push(i);
  });
  const codes = Uint8Array.from(which, (i) => Math.max(0, i));
  const first = merged.map((i) => names[i]);
  if (merged.length < 2) return { metrics, names: first, codes };
  const headline: Metric = {
    name: first.join(", "),
    values: Float32Array.from(codes, (i, row) => metrics[merged[i]].values[row]),
    verdicts: Uint32Array.from(codes, (i, row) => metrics[merged[i]].verdicts[row]),
  };
  return { metrics: merged.length < names.length ? [headline, ...metrics] : [headline], names: first, codes };
}

/** Verdicts without what follows their colon, and the kind of each; last that of no verdict. */
export function kindsOf(verdicts: string[]): { names: string[]; codes: Uint16Array } {
  const kinds = [...verdicts.map((verdict) => verdict.split(":")[0]), "not scored"];
  const names = [...new Set(kinds)];
  return { names, codes: Uint16Array.from(kinds, (kind) => names.indexOf(kind)) };
}
