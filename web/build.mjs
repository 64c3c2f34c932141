// Bundle the page into layers/core/toolfold/explorer/static: index.html, one script, one style sheet, one icon, the
// licences of the bundled packages; and the MCP App, answer.html, which holds its script and style sheet.
// `node build.mjs --watch` builds again after each change.
//
// The server answers `/` with index.html, and `/ui/NAME` with the file NAME of this folder. Names hold a hash of their
// content, so they can be cached without end; index.html alone cannot.

import { createHash } from "node:crypto";
import { mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

import { build, context } from "esbuild";

const web = dirname(fileURLToPath(import.meta.url));
const out = process.env.TOOLFOLD_UI_OUT ?? join(web, "../layers/core/toolfold/explorer/static");
// What the page may weigh, all files compressed.
const MAX_BYTES = 150_000;
// What the MCP App may weigh as it is: the host keeps it for each answer that it shows.
const MAX_APP_BYTES = 60_000;
// Namespaces of SVG, MathML and XHTML: names that are never requested.
const NAMESPACE = /^http:\/\/www\.w3\.org\//;

// Which views the styles of a view apply to. Those that share components share their styles.
const SCOPES = { start: ["start"], catalog: ["catalog"], tool: ["tool"], try: ["try", "ask"], answer: ["try", "ask"], chart: ["try"], select: ["try"], ask: ["try", "ask"], watch: ["watch", "approve"], approve: ["watch", "approve"] };

const options = {
  absWorkingDir: web,
  entryPoints: { app: "src/main.tsx" },
  outdir: out,
  entryNames: "[name]-[hash]",
  bundle: true,
  format: "esm",
  target: ["es2022", "chrome123", "firefox120", "safari17.5"],
  jsx: "automatic",
  jsxImportSource: "preact",
  minify: true,
  charset: "utf8",
  legalComments: "none",
  define: { "process.env.NODE_ENV": '"production"' },
  metafile: true,
  write: false,
  logLevel: "warning",
  plugins: [
    { name: "page", setup: (hooks) => hooks.onEnd(writePage) },
    { name: "scopes", setup: (hooks) => hooks.onLoad({ filter: /\/styles\/[a-z-]+\.css$/ }, scopeStyles) },
  ],
};

// Nest the styles of a view below the class of the view, so that two views may use one name for different things.
async function scopeStyles({ path }) {
  const views = SCOPES[basename(path, ".css")];
  if (!views) return undefined;
  const selectors = views.map((view) => `.view-${view}`).join(", ");
  return { contents: `${selectors} {\n${await readFile(path, "utf8")}}\n`, loader: "css", watchFiles: [path] };
}

// The MCP App in one file: a host has no address for others. Its own policy allows these two elements and nothing else.
async function buildApp() {
  const app = { ...options, entryPoints: { answer: "src/mcp-app/main.tsx" }, plugins: [] };
  const { outputFiles } = await build(app);
  let html = await readFile(join(web, "src/mcp-app/index.html"), "utf8");
  for (const { path, text } of outputFiles) {
    const name = path.endsWith(".css") ? "STYLE" : "SCRIPT";
    const digest = createHash("sha256").update(text).digest("base64");
    html = html.replace(`${name}_HASH`, `sha256-${digest}`).replace(`>${name}<`, () => `>${text}<`);
  }
  const content = Buffer.from(html);
  if (content.length > MAX_APP_BYTES) throw new Error(`The MCP App has ${content.length} bytes; the limit is ${MAX_APP_BYTES}.`);
  return content;
}

async function writePage(result) {
  if (result.errors.length) return;
  const files = new Map();
  const hashed = {};
  for (const file of result.outputFiles) {
    const name = file.path.slice(file.path.lastIndexOf("/") + 1);
    files.set(name, Buffer.from(file.contents));
    hashed[name.endsWith(".css") ? "STYLE" : "SCRIPT"] = name;
  }
  const icon = await readFile(join(web, "src/icon.svg"));
  hashed.ICON = `icon-${hashOf(icon)}.svg`;
  files.set(hashed.ICON, icon);
  files.set("answer.html", await buildApp());
  files.set("licenses.txt", Buffer.from(await collectLicenses(Object.keys(result.metafile.inputs))));
  const template = await readFile(join(web, "src/index.html"), "utf8");
  files.set("index.html", Buffer.from(template.replace(/STYLE|SCRIPT|ICON/g, (word) => hashed[word])));

  for (const [name, content] of files) refuseOtherHosts(name, content.toString("utf8"));
  await rm(out, { recursive: true, force: true });
  await mkdir(out, { recursive: true });
  let total = 0;
  for (const [name, content] of files) {
    const compressed = gzipSync(content, { level: 9 }).length;
    await writeFile(join(out, name), content);
    total += compressed;
    console.log(`${name.padEnd(24)} ${String(content.length).padStart(8)} B ${String(compressed).padStart(8)} B gzip`);
  }
  console.log(`${"all".padEnd(24)} ${" ".repeat(10)} ${String(total).padStart(8)} B gzip, limit ${MAX_BYTES}`);
  if (total > MAX_BYTES) throw new Error(`The page weighs ${total} bytes compressed; the limit is ${MAX_BYTES}.`);
}

// Eight characters of base 32, as in the names that esbuild gives: the server takes them for the hash of the content.
function hashOf(content) {
  const bytes = createHash("sha256").update(content).digest().subarray(0, 8);
  return Array.from(bytes, (byte) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[byte & 31]).join("");
}

function refuseOtherHosts(name, text) {
  if (name === "licenses.txt") return;
  for (const [address] of text.matchAll(/https?:\/\/[\w.-]+[^\s"'`)]*/g)) {
    if (!NAMESPACE.test(address)) throw new Error(`${name} names another host: ${address}`);
  }
}

async function collectLicenses(inputs) {
  const packages = new Set(inputs.flatMap((path) => path.match(/^node_modules\/((?:@[^/]+\/)?[^/]+)\//)?.[1] ?? []));
  const texts = [];
  for (const name of [...packages].sort()) {
    const folder = join(web, "node_modules", name);
    const { version, license } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
    const file = (await readdir(folder)).find((entry) => /^licen[cs]e/i.test(entry));
    if (!file) throw new Error(`${name} has no licence file.`);
    texts.push(`${name} ${version}, ${license}\n\n${(await readFile(join(folder, file), "utf8")).trim()}\n`);
  }
  return texts.join(`\n${"-".repeat(79)}\n\n`);
}

if (process.argv.includes("--watch")) await (await context(options)).watch();
else await build(options).catch((error) => {
  if (!error.errors?.length) console.error(error.message);
  else for (const { text } of error.errors) console.error(text);
  process.exitCode = 1;
});
