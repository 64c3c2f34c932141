// Refuse what the Content-Security-Policy forbids, and what could turn an answer into HTML. Run by `npm run check`.

import { readFile, readdir } from "node:fs/promises";
import { dirname, extname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const web = dirname(fileURLToPath(import.meta.url));
// Lines of a file: one idea in code, one view in a style sheet.
const MAX_LINES = { ".tsx": 300, ".ts": 300, ".css": 600, ".html": 300 };
const REFUSED = [
  [/\b(inner|outer)HTML\b|insertAdjacentHTML|dangerouslySetInnerHTML|document\.write|DOMParser|createContextualFragment|srcdoc/, "show text as text nodes"],
  [/\beval\s*\(|new Function\b|set(Timeout|Interval)\(\s*["'`]/, "no code from text"],
  [/\bstyle=|\.cssText\b|setAttribute\(\s*["']style/, "use a class, or set one property by CSSOM: element.style.setProperty"],
  [/["'`]https?:\/\/(?!www\.w3\.org\/)/, "no address of another host"],
  [/\bfetch\(\s*["'`]\//, "addresses are relative to the page: a deployment may have a stage prefix"],
  [/\b(localStorage|sessionStorage|indexedDB)\b|document\.cookie/, "only theme.ts stores anything, and only the theme"],
  [/\bjavascript:/, "no script in an address"],
];
const STORES = "src/theme.ts";

async function* list(folder) {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* list(path);
    else if (/\.(tsx?|css|html)$/.test(entry.name)) yield path;
  }
}

let findings = 0;
const report = (path, line, text) => {
  findings += 1;
  console.error(`${path}:${line}: ${text}`);
};
for await (const file of list(join(web, "src"))) {
  const path = relative(web, file).replaceAll("\\", "/");
  const lines = (await readFile(file, "utf8")).split("\n");
  const most = MAX_LINES[extname(path)];
  if (lines.length > most + 1) report(path, lines.length, `more than ${most} lines: divide the file`);
  for (const [index, line] of lines.entries()) {
    for (const [pattern, advice] of REFUSED) {
      if (pattern.test(line) && !(path === STORES && line.includes("localStorage"))) report(path, index + 1, advice);
    }
    if (/@import\s+url|url\(\s*["']?(https?:)?\/\//.test(line)) report(path, index + 1, "no address of another host");
  }
}
process.exitCode = findings ? 1 : 0;
