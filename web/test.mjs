// Bundle test/*.test.ts for Node and run them with its own test runner; arguments are passed on to it.

import { spawnSync } from "node:child_process";
import { mkdir, readdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

const web = dirname(fileURLToPath(import.meta.url));
const out = join(web, "node_modules/.cache/test");
await rm(out, { recursive: true, force: true });
await mkdir(out, { recursive: true });
const entryPoints = (await readdir(join(web, "test"))).filter((name) => name.endsWith(".test.ts")).map((name) => join(web, "test", name));
await build({ entryPoints, outdir: out, outExtension: { ".js": ".mjs" }, bundle: true, platform: "node", format: "esm", jsx: "automatic", jsxImportSource: "preact", sourcemap: "inline" });
const files = (await readdir(out)).map((name) => join(out, name));
const { status } = spawnSync(process.execPath, ["--enable-source-maps", "--test", ...process.argv.slice(2), ...files], { stdio: "inherit" });
process.exitCode = status ?? 1;
