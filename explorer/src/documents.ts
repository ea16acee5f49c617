// The documents that prompts refer to.

import { cached, columns } from "./shards";

/** The documents of a shard: texts, and numbered lists of words that are places in a vocabulary. */
export const documentsOf = (shard: number): Promise<string[]> => cached(`documents-${shard}`, read);

async function read(name: string): Promise<string[]> {
  const { header, arrays } = await columns<{ pieces: (string | [number, number])[] }>(name);
  const lists = header.pieces.filter((piece) => typeof piece !== "string");
  const words = new Map<number, string[]>();
  for (const place of new Set(lists.map(([vocabulary]) => vocabulary))) {
    words.set(place, await cached<string[]>(`words-${place}`));
  }
  const { low, middle, high } = arrays as Record<string, Uint8Array | undefined>;
  let at = 0;
  return header.pieces.map((piece) => {
    if (typeof piece === "string") return piece;
    const own = words.get(piece[0])!;
    const said: string[] = [];
    for (let i = 1; i <= piece[1]; i++, at++) {
      said.push(`${i}. ${own[low![at] | ((middle?.[at] ?? 0) << 8) | ((high?.[at] ?? 0) << 16)]}`);
    }
    return said.join(" ");
  });
}

/** The shard that holds a place, given the first place of each. */
export function shardOf(starts: number[], place: number): number {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (starts[middle] <= place) low = middle;
    else high = middle - 1;
  }
  return low;
}
