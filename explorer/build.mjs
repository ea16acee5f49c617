// Bundle src/ into resources/explorer/: `node build.mjs` writes, `node build.mjs --check` compares.

import { build } from "esbuild";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const target = join(here, "..", "resources", "explorer");

const made = await build({
  absWorkingDir: here,
  entryPoints: { explorer: "src/main.tsx" },
  bundle: true,
  minify: true,
  charset: "ascii",
  format: "iife",
  target: ["es2022"],
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  metafile: true,
  write: false,
  outdir: target,
});

// The licences ask that their text goes with the code.
const packages = new Set(
  Object.keys(made.metafile.inputs)
    .map((file) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1])
    .filter(Boolean),
);
const notices = [...packages].sort().map((name) => {
  const folder = join(here, "node_modules", name);
  const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  return `${name} ${version}\n\n${readFileSync(join(folder, "LICENSE"), "utf8").trim()}`;
});
const banner = `/*! This file holds:\n\n${notices.join("\n\n")}\n*/\n`;

let stale = false;
for (const file of made.outputFiles) {
  const text = (file.path.endsWith(".js") ? banner : "") + file.text;
  const old = existsSync(file.path) ? readFileSync(file.path, "utf8") : "";
  if (old === text) continue;
  stale = true;
  if (!process.argv.includes("--check")) writeFileSync(file.path, text);
}
if (stale && process.argv.includes("--check")) {
  console.error("resources/explorer/ is not what explorer/src gives: run `make explorer-bundle`.");
  process.exit(1);
}
