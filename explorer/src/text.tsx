// Text of models and corpora: never markup, marks in place, hidden characters visible.

import { useState } from "preact/hooks";
import type { ComponentChildren, JSX } from "preact";

/** Characters that reorder text or control a terminal: they would let an answer look like another. */
const HIDDEN = /([\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c\ufeff])/;
const NAMES: Record<string, string> = {
  "\u202a": "LRE",
  "\u202b": "RLE",
  "\u202c": "PDF",
  "\u202d": "LRO",
  "\u202e": "RLO",
  "\u2066": "LRI",
  "\u2067": "RLI",
  "\u2068": "FSI",
  "\u2069": "PDI",
  "\u200e": "LRM",
  "\u200f": "RLM",
  "\u061c": "ALM",
  "\ufeff": "BOM",
};

function hiddenName(character: string): string {
  return NAMES[character] ?? `U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
}

/** Text with hidden characters as small labels. */
export function plain(text: string): ComponentChildren {
  if (!HIDDEN.test(text)) return text;
  return text.split(HIDDEN).map((part, i) =>
    i % 2 ? (
      <span class="hidden-character" title="a character that is not seen">
        {hiddenName(part)}
      </span>
    ) : (
      part
    ),
  );
}

const FIRST = 3000;
const MORE = 50000;

/** A text of any length: its beginning, and more of it on demand. `ranges` are marked. */
export function Long(props: { text: string; ranges?: [number, number][]; class?: string }): JSX.Element {
  const [end, setEnd] = useState(FIRST);
  const { text } = props;
  const shown = text.slice(0, end);
  const parts: ComponentChildren[] = [];
  let at = 0;
  for (const [start, stop] of props.ranges ?? []) {
    if (stop > shown.length || start < at) continue;
    parts.push(plain(shown.slice(at, start)), <mark class="reference">{plain(shown.slice(start, stop))}</mark>);
    at = stop;
  }
  parts.push(plain(shown.slice(at)));
  const left = text.length - shown.length;
  return (
    <div class={`text ${props.class ?? ""}`}>
      <div class="prose" dir="auto">
        {parts}
      </div>
      {left > 0 && (
        <button class="quiet" onClick={() => setEnd(end + MORE)}>
          Show {Math.min(MORE, left).toLocaleString("en")} of {left.toLocaleString("en")} further characters
        </button>
      )}
    </div>
  );
}

export function percent(value: number): string {
  return `${(100 * value).toFixed(value > 0 && value < 0.0995 ? 1 : 0)} %`;
}

export function count(n: number): string {
  return n.toLocaleString("en");
}

/** "needle_lang" as "needle lang". */
export function words(name: string): string {
  return name.replaceAll("_", " ");
}

/** A value in [0, 1] as a sign and, where it is neither, a number. */
export function Score({ value }: { value: number }): JSX.Element {
  if (Number.isNaN(value)) return <span class="score none">not scored</span>;
  if (value === 1) return <span class="score right" role="img" aria-label="right">✓</span>;
  if (value === 0) return <span class="score wrong" role="img" aria-label="wrong">✗</span>;
  return <span class="score partly">{value.toFixed(2)}</span>;
}
