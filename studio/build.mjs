// Builds the page into src/lunorash/studio/page, each file compressed, as the Worker serves it.
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const target = here("../src/lunorash/studio/page");

const { outputFiles } = await build({
  entryPoints: { studio: here("src/main.tsx") },
  outdir: "out",
  bundle: true,
  minify: true,
  write: false,
  format: "esm",
  target: ["chrome120", "firefox121", "safari17"],
  jsx: "automatic",
  jsxImportSource: "preact",
  charset: "utf8",
  legalComments: "none",
});

const files = new Map(outputFiles.map((file) => [file.path.replace(/.*\/out\//s, ""), file.contents]));
for (const name of ["index.html", "icon.svg"]) files.set(name, await readFile(here(`src/${name}`)));

await rm(target, { recursive: true, force: true });
await mkdir(target, { recursive: true });
let total = 0;
for (const [name, content] of files) {
  const packed = gzipSync(content, { level: 9 });
  total += packed.length;
  await writeFile(`${target}/${name}.bin`, packed);
}
console.log(`studio: ${files.size} files, ${(total / 1000).toFixed(1)} kB compressed`);
