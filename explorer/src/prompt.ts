// A prompt in pieces that fold, with marks where its needle, distractors and answer-like strings are.

export interface Span {
  role: string;
  text: string;
}

export type Kind = "needle" | "reference" | "answer";

export interface Mark {
  kind: Kind;
  start: number;
  end: number;
  label: string;
}

export interface Piece {
  role: string;
  /** Which span it is of. */
  span: number;
  start: number;
  text: string;
  /** Whether this piece begins its span. */
  first: boolean;
  /** Which span of its role this is, from 1, and of how many. */
  place: [number, number];
}

export interface Laid {
  /** Whether most of it is written from the right. */
  fromRight: boolean;
  length: number;
  pieces: Piece[];
  marks: Mark[];
}

const PIECE = 600;
const MOST_MARKS = 400;
// Shorter strings stand everywhere and tell nothing.
const SHORTEST = 2;
const LONGEST = 300;

export function lay(spans: Span[], references: string[], answer: string): Laid {
  const pieces: Piece[] = [];
  const marks: Mark[] = [];
  const totals = new Map<string, number>();
  for (const { role, text } of spans) if (text.trim()) totals.set(role, (totals.get(role) ?? 0) + 1);
  const seen = new Map<string, number>();
  let length = 0;
  for (const [span, { role, text }] of spans.entries()) {
    if (text.trim()) seen.set(role, (seen.get(role) ?? 0) + 1);
    const place: [number, number] = [seen.get(role) ?? 1, totals.get(role) ?? 1];
    if (role === "needle") {
      const which = place[1] > 1 ? ` ${place[0]} of ${place[1]}` : "";
      marks.push({ kind: "needle", start: length, end: length + text.length, label: `needle${which}` });
    }
    for (let at = 0; at < text.length; ) {
      const end = cut(text, at);
      pieces.push({ role, span, start: length + at, text: text.slice(at, end), first: at === 0, place });
      at = end;
    }
    length += text.length;
  }
  const whole = spans.map((span) => span.text).join("");
  const inNeedle = (at: number) => marks.some((m) => m.kind === "needle" && m.start <= at && at < m.end);
  const wanted = new Map<string, Kind>();
  for (const text of references) wanted.set(text.trim(), "reference");
  if (!wanted.has(answer.trim())) wanted.set(answer.trim(), "answer");
  const found: Mark[] = [];
  for (const [text, kind] of wanted) {
    if (text.length < SHORTEST || text.length > LONGEST) continue;
    for (const [start, end] of occurrences(whole, text)) {
      if (kind === "answer" && inNeedle(start)) continue;
      if (found.length >= MOST_MARKS) break;
      const what = kind === "answer" ? "the model's answer" : "a reference";
      found.push({ kind, start, end, label: `${what}${inNeedle(start) ? ", in the needle" : ""}` });
    }
  }
  return { fromRight: fromRight(pieces), length, pieces, marks: [...marks, ...found].sort((a, b) => a.start - b.start || b.end - a.end) };
}

/** Where `text` stands in `whole`, whatever the case, as a word where it is written with letters that
 * words are parted by spaces in. */
export function occurrences(whole: string, text: string): [number, number][] {
  const escaped = text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/\s+/g, "\\s+");
  const spaced = "\\p{Script=Latin}\\p{Script=Cyrillic}\\p{Script=Greek}\\p{Nd}";
  const before = new RegExp(`^[${spaced}]`, "u").test(text) ? `(?<![${spaced}])` : "";
  const after = new RegExp(`[${spaced}]$`, "u").test(text) ? `(?![${spaced}])` : "";
  const found: [number, number][] = [];
  for (const match of whole.matchAll(new RegExp(before + escaped + after, "giu"))) {
    found.push([match.index, match.index + match[0].length]);
    if (found.length >= MOST_MARKS) break;
  }
  return found;
}

const FROM_RIGHT = /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/gu;

/** Judged by the beginning of each piece: an instruction in English does not turn an Arabic book around. */
function fromRight(pieces: Piece[]): boolean {
  const sample = pieces.map((piece) => piece.text.slice(0, 60)).join("");
  const letters = sample.match(/\p{L}/gu)?.length ?? 0;
  return 2 * (sample.match(FROM_RIGHT)?.length ?? 0) > letters;
}

/** Where the piece that begins at `at` ends: after white space if there is any, never within a pair. */
function cut(text: string, at: number): number {
  if (text.length - at <= PIECE * 1.5) return text.length;
  const space = text.slice(at + PIECE, at + PIECE * 1.5).search(/\s/);
  if (space >= 0) return at + PIECE + space + 1;
  const unit = text.charCodeAt(at + PIECE);
  return at + PIECE + (unit >= 0xdc00 && unit < 0xe000 ? 1 : 0);
}

/** The pieces that are shown before a reader unfolds any: around needles, and what is not haystack. */
export function initial({ pieces }: Laid): Set<number> {
  const shown = new Set<number>();
  const filler = (piece?: Piece) => piece?.role === "haystack" || piece?.role === "distractor";
  pieces.forEach((piece, i) => {
    const inside = (step: number) => {
      let n = 0;
      for (let j = i; pieces[j]?.role === piece.role && n < 4; j += step) n++;
      return n < 4;
    };
    // Of a long span of instructions or examples, its two ends.
    if (!filler(piece)) {
      if (inside(-1) || inside(1)) shown.add(i);
    }
    if (piece.role === "needle") {
      let room = 500;
      for (let j = i - 1; j >= 0 && room > 0 && filler(pieces[j]); room -= pieces[j--].text.length) shown.add(j);
      room = 500;
      for (let j = i + 1; filler(pieces[j]) && room > 0; room -= pieces[j++].text.length) shown.add(j);
    }
  });
  // A prompt of a page is shown whole.
  if (pieces.reduce((sum, piece) => sum + piece.text.length, 0) < 3000) pieces.forEach((_, i) => shown.add(i));
  return shown;
}
