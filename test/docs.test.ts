/** Documents name files and functions. These tests fail if a document names one that does not exist. */
import assert from "node:assert/strict";
import { existsSync, globSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";

const root = path.resolve(import.meta.dirname, "..");
const pages = globSync(["*.md", "docs/**/*.md"], { cwd: root }).sort();

interface Link {
  readonly page: string;
  readonly text: string;
  /** Relative to the root. */
  readonly file: string;
}

function* linksOf(page: string): Iterable<Link> {
  const markdown = readFileSync(path.join(root, page), "utf8");
  for (const [, text = "", target = ""] of markdown.matchAll(/\[([^\]]+)\]\(([^)\s]+)\)/g)) {
    if (/^[a-z]+:/.test(target)) continue;
    const [file = ""] = target.split("#");
    if (file) yield { page, text, file: path.join(path.dirname(page), file) };
  }
}

const links = pages.flatMap((page) => [...linksOf(page)]);

test("every link in the documents leads to a file", () => {
  const broken = links.filter(({ file }) => !existsSync(path.join(root, file)));

  assert.deepEqual(
    broken.map(({ page, file }) => `${page} links to ${file}`),
    [],
  );
  assert(links.length > 100);
});

/** A link whose text is code, as in [`planPod`](…/plan-pod.ts), names something that the file declares. */
test("every function, type and hook that a document links to is declared in its file", () => {
  const named = links.flatMap(({ page, text, file }) => {
    const name = /^`([A-Za-z_]\w*)(\(\))?`$/.exec(text)?.[1];
    return name && file.endsWith(".ts") && existsSync(path.join(root, file)) ? [{ page, name, file }] : [];
  });

  const missing = named.filter(({ name, file }) => !declares(readFileSync(path.join(root, file), "utf8"), name));

  assert.deepEqual(
    missing.map(({ page, name, file }) => `${page}: no ${name} in ${file}`),
    [],
  );
  assert(named.length > 5);
});

/** A declaration (`function name`, `const name`, …) or a member (`name(…)`, `name?(…)`, `name: …`). */
function declares(source: string, name: string): boolean {
  const declaration = new RegExp(`\\b(function\\*?|const|class|interface|type) ${name}\\b`);
  const member = new RegExp(`^ +(async |readonly |static |get )*#?${name}\\??[(<:]`, "m");
  return declaration.test(source) || member.test(source);
}

test("every folder of src/ has a line in docs/rooms.md, and every line a folder", () => {
  const folders = readdirSync(path.join(root, "src"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => path.relative(path.join(root, "src"), path.join(entry.parentPath, entry.name)));
  const page = readFileSync(path.join(root, "docs/rooms.md"), "utf8");
  const lines = [...page.matchAll(/^\| `([a-z/-]+)` \| \S.* \| \S.* \|$/gm)].map(([, room]) => room);
  assert.deepEqual(lines.sort(), folders.sort());
});
