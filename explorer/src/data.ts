// A benchmark's index: its columns, and what is counted in them.

import { cached, columns, type Codes, type Column } from "./shards";

export type Value = string | number | boolean | null;

export interface BenchmarkInfo {
  name: string;
  title: string;
  models: string[];
  tokenizers: string[];
  instances: number;
  answers: number;
  details: number[];
}

export interface About {
  version: string;
  roles: string[];
  benchmarks: BenchmarkInfo[];
  documents: number[];
  meanings: Record<string, string>;
}

/** Values and verdicts of all answers; where no answer has two metrics, of whichever it has. */
export interface Metric {
  name: string;
  values: Float32Array;
  verdicts: Codes;
}

interface Header {
  columns: string[];
  factors: string[];
  values: Value[][];
  examples: string[];
  finish: string[];
  metrics: string[];
  verdicts: string[];
  preview: number;
}

/** Something that every answer has one value of: a factor, the model, the verdict. */
export interface Dimension {
  name: string;
  labels: string[];
  /** Codes in the order in which they are shown. */
  order: number[];
  code: (row: number) => number;
  /** Whether it belongs to the answer (else to the instance). */
  ofAnswer: boolean;
}

export interface Detail {
  id: string;
  prompt: [number, number | string, number?, number?][];
  references: string[];
  metric: string;
  limit: number;
  answers: {
    model: number;
    sample: number;
    text?: string;
    lang?: string;
    translation?: string;
    /** All that the model wrote, thoughts included. */
    raw?: string;
    error?: string;
  }[];
}

export const NEEDLE = "needle at";
const TENTHS = 10;
const DECODER = new TextDecoder();

function label(value: Value): string {
  if (value === null) return "none";
  if (typeof value === "boolean") return value ? "yes" : "no";
  return String(value);
}

export class Benchmark {
  readonly n: number;
  readonly dimensions: Dimension[] = [];
  readonly metrics: Metric[];
  readonly instance: Codes;
  readonly model: Codes;
  readonly finish: Codes;
  readonly tokens: Record<string, Int32Array | undefined> = {};
  private texts?: { offsets: Uint32Array; bytes: Uint8Array };
  private lower?: string[];
  private readonly twins = new Map<string, Int32Array>();

  constructor(
    readonly about: About,
    readonly info: BenchmarkInfo,
    readonly header: Header,
    private readonly arrays: Record<string, Column>,
  ) {
    this.instance = arrays.instance as Codes;
    this.model = arrays.model as Codes;
    this.finish = arrays.finish as Codes;
    this.n = this.instance.length;
    for (const name of ["prompt_tokens", "cached_tokens", "completion_tokens", "reasoning_tokens"]) {
      this.tokens[name] = arrays[name] as Int32Array | undefined;
    }
    const instance = this.instance;
    const add = (name: string, values: Value[], codes: Codes, ofAnswer: boolean) => {
      const order = values.map((_, code) => code);
      const numbers = values.every((value) => value === null || typeof value === "number");
      if (numbers) order.sort((a, b) => Number(values[a] ?? -Infinity) - Number(values[b] ?? -Infinity));
      this.dimensions.push({
        name,
        labels: values.map(label),
        order,
        code: ofAnswer ? (row) => codes[row] : (row) => codes[instance[row]],
        ofAnswer,
      });
    };
    add("model", info.models, this.model, true);
    add("ended with", header.finish, this.finish, true);
    header.columns.forEach((name, i) => add(name, header.values[i], arrays[`factor${i}`] as Codes, false));
    const apart = separateMetrics(header.metrics, arrays);
    this.metrics = apart.metrics;
    if (apart.codes) add("metric", header.metrics, apart.codes, true);
    add("tokenizer", info.tokenizers, arrays.tokenizer as Codes, false);
    const needle = arrays.needle as Int32Array;
    if (needle.some((at) => at >= 0)) {
      this.dimensions.push({
        name: NEEDLE,
        labels: [
          ...Array.from({ length: TENTHS }, (_, i) => `${i * 10}–${i * 10 + 10} %`),
          "no needle",
        ],
        order: Array.from({ length: TENTHS + 1 }, (_, i) => i),
        code: (row) => {
          const at = needle[instance[row]];
          return at < 0 ? TENTHS : Math.min(TENTHS - 1, Math.floor(at / 100));
        },
        ofAnswer: false,
      });
    }
  }

  static async load(about: About, info: BenchmarkInfo): Promise<Benchmark> {
    const { header, arrays } = await columns<Header>(`${info.name}-index`);
    return new Benchmark(about, info, header, arrays);
  }

  /** What answers are told apart by under a metric; one value tells nothing apart. */
  facets(metric: number): Dimension[] {
    const codes = this.verdicts(metric);
    const labels = [...this.header.verdicts, "not scored"];
    const verdict: Dimension = {
      name: "verdict",
      labels,
      order: labels.map((_, i) => i),
      code: (row) => codes[row],
      ofAnswer: true,
    };
    const all = [this.dimensions[0], verdict, ...this.dimensions.slice(1)];
    return all.filter((d) => d.name === "verdict" || (d.labels.length > 1 && d.labels.length <= 400));
  }

  values(metric: number): Float32Array {
    return this.metrics[metric].values;
  }

  verdicts(metric: number): Codes {
    return this.metrics[metric].verdicts;
  }

  verdict(row: number, metric: number): string {
    return this.header.verdicts[this.verdicts(metric)[row]] ?? "not scored";
  }

  promptTokens(row: number): number {
    return (this.arrays.n_tokens as Int32Array)[this.instance[row]];
  }

  /** Where the first needle begins, in thousandths of the prompt's characters; -1 without one. */
  needle(row: number): number {
    return (this.arrays.needle as Int32Array)[this.instance[row]];
  }

  example(row: number): string {
    return this.header.examples[(this.arrays.example as Codes)[this.instance[row]]];
  }

  exampleCode(row: number): number {
    return (this.arrays.example as Codes)[this.instance[row]];
  }

  sample(row: number): number {
    return (this.arrays.sample as Uint32Array)[row];
  }

  /** The first 16 digits of the instance's id. */
  id(row: number): string {
    const bytes = (this.arrays.id as Uint8Array).subarray(8 * this.instance[row], 8 * this.instance[row] + 8);
    return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  }

  /** How an address names an answer. */
  address(row: number): string {
    const sample = this.sample(row) ? `.${this.sample(row)}` : "";
    return `${this.id(row)}.${this.info.models[this.model[row]]}${sample}`;
  }

  /** The answer that an address names; -1 without one. */
  find(address: string): number {
    const id = address.slice(0, 16);
    for (let row = 0; row < this.n; row++) {
      // Comparing one byte first spares most rows their digits.
      if (this.firstByte(row) === parseInt(id.slice(0, 2), 16) && this.address(row) === address) return row;
    }
    return -1;
  }

  private firstByte(row: number): number {
    return (this.arrays.id as Uint8Array)[8 * this.instance[row]];
  }

  async loadTexts(): Promise<void> {
    if (this.texts) return;
    const { arrays } = await columns<object>(`${this.info.name}-texts`);
    this.texts = { offsets: arrays.offsets as Uint32Array, bytes: arrays.bytes as Uint8Array };
  }

  get hasTexts(): boolean {
    return this.texts !== undefined;
  }

  /** The beginning of an answer. */
  preview(row: number): string {
    return this.texts ? this.text((this.arrays.text as Codes)[row]) : "";
  }

  private text(code: number): string {
    const { offsets, bytes } = this.texts!;
    return DECODER.decode(bytes.subarray(offsets[code], offsets[code + 1]));
  }

  /** Which texts hold `wanted`, whatever the case. */
  matching(wanted: string): Uint8Array {
    const n = this.texts!.offsets.length - 1;
    this.lower ??= Array.from({ length: n }, (_, code) => this.text(code).toLowerCase());
    const low = wanted.toLowerCase();
    return Uint8Array.from(this.lower, (text) => Number(text.includes(low)));
  }

  textCode(row: number): number {
    return (this.arrays.text as Codes)[row];
  }

  /** For each answer, the answer of `model` to the same instance (or, in another tokenizer's prompt, to
   * the same question under the same factors); -1 without one. */
  partners(model: number): Int32Array {
    const key = String(model);
    let found = this.twins.get(key);
    if (!found) {
      const twin = this.arrays.twin as Codes;
      const own = new Map<number, number>();
      const name = (row: number) => twin[this.instance[row]] * 2 ** 20 + this.sample(row);
      for (let row = 0; row < this.n; row++) if (this.model[row] === model) own.set(name(row), row);
      found = Int32Array.from({ length: this.n }, (_, row) => own.get(name(row)) ?? -1);
      this.twins.set(key, found);
    }
    return found;
  }

  /** The answers to the same question under the same factors, of all models. */
  siblings(row: number): number[] {
    const twin = this.arrays.twin as Codes;
    const wanted = twin[this.instance[row]];
    const found: number[] = [];
    for (let other = 0; other < this.n; other++) if (twin[this.instance[other]] === wanted) found.push(other);
    return found;
  }

  async detail(row: number): Promise<Detail> {
    const instance = this.instance[row];
    const shard = shardOf(this.info.details, instance);
    const all = await cached<Detail[]>(`${this.info.name}-details-${shard}`);
    return all[instance - this.info.details[shard]];
  }

  /** The texts of an instance's spans. */
  async spans(detail: Detail): Promise<{ role: string; text: string }[]> {
    const { documents, roles } = this.about;
    const needed = new Map<number, string[]>();
    for (const [, source] of detail.prompt) {
      if (typeof source === "number") needed.set(shardOf(documents, source), []);
    }
    await Promise.all(
      [...needed.keys()].map(async (shard) => {
        needed.set(shard, await cached<string[]>(`documents-${shard}`));
      }),
    );
    return detail.prompt.map(([role, source, start, end]) => {
      if (typeof source === "string") return { role: roles[role], text: source };
      const shard = shardOf(documents, source);
      const piece: string | string[] = needed.get(shard)![source - documents[shard]];
      const text = typeof piece === "string" ? piece : numbered(piece);
      return { role: roles[role], text: start === undefined ? text : text.slice(start, end) };
    });
  }
}

/** One metric for all where every answer has one alone, with the codes of which; else each by itself. */
function separateMetrics(
  names: string[],
  arrays: Record<string, Column>,
): { metrics: Metric[]; codes: Codes | null } {
  const metrics = names.map((name, i) => ({
    name,
    values: arrays[`value${i}`] as Float32Array,
    verdicts: arrays[`verdict${i}`] as Codes,
  }));
  const n = metrics[0].values.length;
  const codes = new Uint8Array(n);
  for (let row = 0; row < n; row++) {
    let found = 0;
    for (let i = 0; i < metrics.length; i++) {
      if (!Number.isNaN(metrics[i].values[row])) {
        codes[row] = i;
        if (++found > 1) return { metrics, codes: null };
      }
    }
  }
  const merged: Metric = {
    name: names.join(", "),
    values: Float32Array.from(codes, (i, row) => metrics[i].values[row]),
    verdicts: Uint32Array.from(codes, (i, row) => metrics[i].verdicts[row]),
  };
  return { metrics: [merged], codes };
}

function numbered(words: string[]): string {
  return words.map((word, i) => `${i + 1}. ${word}`).join(" ");
}

function shardOf(starts: number[], place: number): number {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (starts[middle] <= place) low = middle;
    else high = middle - 1;
  }
  return low;
}
