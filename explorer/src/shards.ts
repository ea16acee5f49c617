// Shards: base64 of gzip, in an element of the page or in a script beside it.

const waiting = new Map<string, (text: string) => void>();

declare global {
  interface Window {
    needlework: (name: string, text: string) => void;
  }
}

// What a shard's script calls.
window.needlework = (name, text) => waiting.get(name)?.(text);

function text(name: string): Promise<string> {
  const inside = document.getElementById(`shard-${name}`);
  if (inside) return Promise.resolve(inside.textContent ?? "");
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    waiting.set(name, resolve);
    script.onload = script.onerror = () => {
      if (waiting.delete(name)) reject(new Error(`data/${name}.js is missing or damaged.`));
      script.remove();
    };
    waiting.set(name, (found) => {
      waiting.delete(name);
      resolve(found);
    });
    script.src = `data/${name}.js`;
    document.head.append(script);
  });
}

function decoded(base64: string): Uint8Array<ArrayBuffer> {
  const native = (
    Uint8Array as unknown as { fromBase64?: (text: string) => Uint8Array<ArrayBuffer> }
  ).fromBase64;
  if (native) return native.call(Uint8Array, base64);
  const binary = atob(base64);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** A shard's bytes. */
export async function bytes(name: string): Promise<ArrayBuffer> {
  const packed = decoded(await text(name));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

/** A shard of JSON. */
export async function json<T>(name: string): Promise<T> {
  return JSON.parse(new TextDecoder().decode(await bytes(name))) as T;
}

export type Codes = Uint8Array | Uint16Array | Uint32Array;
export type Column = Codes | Int32Array | Float32Array;

const TYPES = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, i32: Int32Array, f32: Float32Array };

/** A shard of columns: its header, and the arrays that the header describes. */
export async function columns<T>(name: string): Promise<{ header: T; arrays: Record<string, Column> }> {
  const buffer = await bytes(name);
  const size = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, size)));
  const arrays: Record<string, Column> = {};
  for (const [key, [type, offset, length]] of Object.entries<[keyof typeof TYPES, number, number]>(
    header.arrays,
  )) {
    arrays[key] = new TYPES[type](buffer, 4 + size + offset, length);
  }
  return { header, arrays };
}

const kept = new Map<string, Promise<unknown>>();

/** What a shard gives, JSON if nothing else is said; the page keeps the last few. */
export function cached<T>(name: string, read: (name: string) => Promise<T> = json<T>): Promise<T> {
  const found = (kept.get(name) ?? read(name)) as Promise<T>;
  kept.delete(name);
  kept.set(name, found);
  found.catch(() => kept.delete(name));
  for (const old of kept.keys()) {
    if (kept.size <= 24) break;
    kept.delete(old);
  }
  return found;
}
