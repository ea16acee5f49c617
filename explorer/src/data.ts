// A benchmark's index: its columns, and what is counted in them.

import { documentsOf, shardOf } from "./documents";
import { headlineMetrics, kindsOf, type Metric } from "./metrics";
import { cached, columns, type Codes, type Column } from "./shards";

export type Value = string | number | boolean | null;

export interface BenchmarkInfo {
  name: string;
  title: string;
  models: string[];
  /** Built-in readers among them, which the first view leaves out. */
  controls: string[];
  /** The factor that prompts were made to vary, its label of prompts to which it does not apply, the tasks that
   * ask for it (none: all), and the columns that report cards hold constant along it. */
  designed: { factor: string; without: string; tasks: string[]; held: string[] };
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
  /** What verdicts (in a sentence, in few words), outcomes and remarks mean, by their names. */
  meanings: Record<string, string>;
  words: Record<string, string>;
  outcomes: Record<string, string>;
  remarks: Record<string, string>;
}

interface Header {
  columns: string[];
  factors: string[];
  values: Value[][];
  /** By column: how its values are written, where not as they are. */
  labels: Record<string, (string | null)[]>;
  examples: string[];
  finish: string[];
  outcomes: string[];
  remarks: string[];
  metrics: string[];
  verdicts: string[];
  readings: string[];
  preview: number;
}

/** Something that every answer has one value of: a factor, the model, the verdict. */
export interface Dimension {
  name: string;
  labels: string[];
  /** What the page writes for a label, where that is not the label itself. */
  written?: string[];
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
    /** What an endpoint gave beside an empty text. */
    reasoning?: string;
    error?: string;
    remarks?: string[];
  }[];
}

export const NEEDLE = "needle at";
/** How the first metric of an answer stands beside the second scorer's verdict. */
export const READING = "beside the second scorer";
export const OUTCOME = "outcome";
export const REMARKS = "remarks";
export const BUILT_IN = "built-in reader";
/** What is no question of the benchmark's, so neither a column of the list nor an axis by default. */
export const OF_REQUEST = ["verdict", "tokenizer", "ended with", "metric", READING, OUTCOME, REMARKS, BUILT_IN];
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
  private readonly verdictKinds: { names: string[]; codes: Uint16Array };
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
    const add = (
      name: string,
      values: Value[],
      codes: ArrayLike<number>,
      ofAnswer: boolean,
      written?: string[],
    ) => {
      const order = values.map((_, code) => code);
      const numbers = values.every((value) => value === null || typeof value === "number");
      if (numbers) order.sort((a, b) => Number(values[a] ?? -Infinity) - Number(values[b] ?? -Infinity));
      this.dimensions.push({
        name,
        labels: values.map((value, code) => header.labels[name]?.[code] ?? label(value)),
        written,
        order,
        code: ofAnswer ? (row) => codes[row] : (row) => codes[instance[row]],
        ofAnswer,
      });
    };
    add("model", info.models, this.model, true);
    const control = info.models.map((model) => Number(info.controls.includes(model)));
    const controls = Uint8Array.from(this.model, (code) => control[code]);
    // Models may have been asked nothing of this benchmark.
    if (controls.includes(0) && controls.includes(1)) add(BUILT_IN, ["no", "yes"], controls, true);
    const outcomes = header.outcomes.map((name) => about.outcomes[name] ?? name);
    add(OUTCOME, header.outcomes, arrays.outcome as Codes, true, outcomes);
    add("ended with", header.finish, this.finish, true);
    header.columns.forEach((name, i) => add(name, header.values[i], arrays[`factor${i}`] as Codes, false));
    const apart = headlineMetrics(header.metrics, arrays);
    this.metrics = apart.metrics;
    if (apart.names.length > 1) add("metric", apart.names, apart.codes, true);
    add(READING, header.readings, arrays.reading as Codes, true);
    const remarks = header.remarks.map((kinds) => this.remarks(kinds));
    add(REMARKS, header.remarks, arrays.remarks as Codes, true, remarks);
    this.verdictKinds = kindsOf(header.verdicts);
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
    const { names, codes: kinds } = this.verdictKinds;
    const verdict: Dimension = {
      name: "verdict",
      labels: names,
      written: names.map((name) => this.inWords(name)),
      order: names.map((_, i) => i),
      code: (row) => kinds[codes[row]],
      ofAnswer: true,
    };
    const all = [this.dimensions[0], verdict, ...this.dimensions.slice(1)];
    // Addresses may filter by the server's reason, which the outcome says in words.
    return all.filter(
      ({ name, labels }) =>
        ["verdict", "model"].includes(name) ||
        (labels.length > 1 && labels.length <= 400 && name !== "ended with"),
    );
  }

  /** A verdict in few words. */
  inWords(verdict: string): string {
    return this.about.words[verdict.split(":")[0]] ?? verdict;
  }

  /** What a verdict means, in a sentence; "" if that is not known. */
  meaning(verdict: string): string {
    return this.about.meanings[verdict.split(":")[0]] ?? "";
  }

  /** Remarks in words; each may have a text after a colon. */
  remarks(kinds: string): string {
    if (!kinds) return "none";
    return kinds
      .split(", ")
      .map((kind) => this.about.remarks[kind] ?? kind)
      .join("; ");
  }

  /** The models that gave more than one text: of built-in readers, those whose answers are worth reading. */
  private variedModels(): string[] {
    const first = new Map<number, number>();
    const varied = new Set<number>();
    for (let row = 0; row < this.n; row++) {
      const model = this.model[row];
      const text = this.textCode(row);
      if (!first.has(model)) first.set(model, text);
      else if (first.get(model) !== text) varied.add(model);
    }
    const controls = this.info.controls;
    return this.info.models.filter(
      (name, model) => varied.has(model) || (first.has(model) && !controls.includes(name)),
    );
  }

  /** What the page writes for a dimension's label. */
  written(name: string, label: string): string {
    if (name === "verdict") return this.inWords(label);
    const dimension = this.dimensions.find((d) => d.name === name);
    return dimension?.written?.[dimension.labels.indexOf(label)] ?? label;
  }

  /** What became of the request of an answer: its name, and in words. */
  outcome(row: number): [string, string] {
    const name = this.header.outcomes[(this.arrays.outcome as Codes)[row]];
    return [name, this.about.outcomes[name] ?? name];
  }

  /** The filters of the first view: models without built-in readers, the tasks that the designed factor is asked
   * in, the factor's own values, and of each held column the values that are asked at the same values of the factor. */
  opening(): Record<string, string[]> {
    const filters: Record<string, string[]> = {};
    const control = this.dimensions.find((d) => d.name === BUILT_IN);
    if (control) filters[BUILT_IN] = ["no"];
    const task = this.dimensions.find((d) => d.name === "task");
    const asked = new Set<string>();
    for (let row = 0; task && row < this.n; row++) {
      if (!control || control.code(row) === 0) asked.add(task.labels[task.code(row)]);
    }
    const tasks = this.info.designed.tasks.filter((name) => asked.has(name));
    if (tasks.length && tasks.length < asked.size) filters.task = tasks;
    const models = this.variedModels();
    if (!control && models.length && models.length < this.info.models.length) filters.model = models;
    return { ...filters, ...this.held(filters) };
  }

  /** Filters of held columns, of the answers that pass `filters`: else ten documents at some places and twenty at
   * others would look like a loss by place. What the most models were asked stays, then what the most answers are of. */
  private held(filters: Record<string, string[]>): Record<string, string[]> {
    const named = (name: string) => this.dimensions.find((d) => d.name === name);
    const factor = named(this.info.designed.factor);
    const found: Record<string, string[]> = {};
    if (!factor) return found;
    const chosen = Object.entries(filters).map(([name, labels]) => [named(name)!, labels] as const);
    let rows = Array.from(this.values(0).keys()).filter(
      (row) =>
        !Number.isNaN(this.values(0)[row]) && chosen.every(([d, own]) => own.includes(d.labels[d.code(row)])),
    );
    const without = factor.labels.indexOf(this.info.designed.without);
    const within = rows.filter((row) => factor.code(row) !== without);
    if (within.length && within.length < rows.length) {
      rows = within;
      found[factor.name] = factor.order.filter((code) => code !== without).map((code) => factor.labels[code]);
    }
    for (const name of this.info.designed.held) {
      const column = named(name);
      if (!column || column === factor) continue;
      const asked = column.labels.map(() => new Set<number>());
      const askedOf = this.info.models.map(() => column.labels.map(() => new Set<number>()));
      for (const row of rows) {
        asked[column.code(row)].add(factor.code(row));
        askedOf[this.model[row]][column.code(row)].add(factor.code(row));
      }
      const key = (levels: Set<number>) => [...levels].sort().join();
      // Models that were asked different values are rows of their own.
      if (askedOf.every((own) => new Set(own.map(key).filter(Boolean)).size < 2)) continue;
      const keys = asked.map(key);
      const groups = new Map<string, { models: Set<number>; n: number }>();
      for (const row of rows) {
        const code = column.code(row);
        // A value at one level alone changes with the factor: nothing could be seen along it.
        if (asked[code].size < 2) continue;
        const group = groups.get(keys[code]) ?? { models: new Set(), n: 0 };
        groups.set(keys[code], group);
        group.models.add(this.model[row]);
        group.n++;
      }
      const [best] = [...groups].sort(([, a], [, b]) => b.models.size - a.models.size || b.n - a.n);
      if (!best) continue;
      rows = rows.filter((row) => keys[column.code(row)] === best[0]);
      found[name] = column.order.filter((code) => keys[code] === best[0]).map((code) => column.labels[code]);
    }
    return found;
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

  /** The beginning of what an answer was asked, or of its references. */
  asked(row: number, what: "question" | "reference"): string {
    return this.texts ? this.text((this.arrays[what] as Codes)[this.instance[row]]) : "";
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
        needed.set(shard, await documentsOf(shard));
      }),
    );
    return detail.prompt.map(([role, source, start, end]) => {
      if (typeof source === "string") return { role: roles[role], text: source };
      const shard = shardOf(documents, source);
      const text = needed.get(shard)![source - documents[shard]];
      return { role: roles[role], text: start === undefined ? text : text.slice(start, end) };
    });
  }
}
