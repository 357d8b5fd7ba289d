/** The documents name files, functions, flags and limits; these tests fail when a document and the code disagree. */
import assert from "node:assert/strict";
import { existsSync, globSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { allResources } from "#api/all.ts";
import { ComponentStatus } from "#api/core/component-status.ts";
import { commands } from "#cli/main.ts";
import { controllerNames } from "#controllers/all.ts";
import { upstreamControllers } from "#controllers/choose-controllers.ts";
import { seededRandom } from "#lib/data/random.ts";
import { maxDepth, maxMembers, maxValues } from "#schema/json/decode-error.ts";
import { builtInAdmission } from "#server/admission/all.ts";
import { defaultLimits, maxBodyBytes, maxReviewBytes, strangerSettings, userSettings } from "#server/http/limits.ts";
import { ResourceRegistry } from "#server/registry.ts";
import { createFakeInformers } from "#testing/fake-informers.ts";
import { testProfile } from "#testing/scheduling.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { hopNames } from "#trace/hop.ts";

const root = path.resolve(import.meta.dirname, "..");
const pages = globSync(["*.md", "docs/**/*.md"], { cwd: root }).sort();

interface Link {
  readonly page: string;
  readonly text: string;
  /** Relative to the root. */
  readonly file: string;
  /** The heading that it leads to; empty: the whole file. */
  readonly anchor: string;
}

function* linksOf(page: string): Iterable<Link> {
  const markdown = readFileSync(path.join(root, page), "utf8");
  for (const [, text = "", target = ""] of markdown.matchAll(/\[([^\]]+)\]\(([^)\s]+)\)/g)) {
    if (/^[a-z]+:/.test(target)) continue;
    const [file = "", anchor = ""] = target.split("#");
    yield { page, text, file: file ? path.join(path.dirname(page), file) : page, anchor };
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

test("a link whose text is a file name leads to a file of that name", () => {
  const wrong = links.filter(({ text, file }) => /^[\w./-]+\.ts$/.test(text) && !`/${file}`.endsWith(`/${text}`));

  assert.deepEqual(
    wrong.map(({ page, text, file }) => `${page} calls ${file} ${text}`),
    [],
  );
});

/** As GitHub makes them: lower case, without punctuation, with dashes for spaces. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");

test("every link to a part of a document leads to a heading", () => {
  const broken = links.filter(({ file, anchor }) => {
    if (!anchor) return false;
    const text = readFileSync(path.join(root, file), "utf8");
    return ![...text.matchAll(/^#+ (.+)$/gm)].some(([, heading = ""]) => anchorOf(heading) === anchor);
  });

  assert.deepEqual(
    broken.map(({ page, file, anchor }) => `${page} links to ${file}#${anchor}`),
    [],
  );
});

/** A link whose text is code, as in [`planPod`](…/plan-pod.ts), names something that stands in that file. */
test("every function, type and hook that a document links to stands in its file", () => {
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

/** The parts of a page by their headings of the second level. */
function sectionsOf(page: string): ReadonlyMap<string, string> {
  const [, ...parts] = readFileSync(path.join(root, page), "utf8").split(/^## /m);
  return new Map(parts.map((part) => [part.split("\n")[0] ?? "", part]));
}

/** The cells of every row of the tables in a text, without the backticks around code. */
const rowsOf = (text: string): string[][] =>
  [...text.matchAll(/^\|(.*)\|$/gm)].map(([, row = ""]) =>
    row.split("|").map((cell) => cell.replaceAll("`", "").trim()),
  );

for (const [name, command] of Object.entries(commands)) {
  if (name === "run") continue; // It has no flags.
  test(`docs/commands.md lists the flags of orlop ${name}, with their defaults`, async () => {
    const { flags } = await command.load();
    const heading = ["orlop", name, command.takes].filter(Boolean).join(" ");
    const sections = sectionsOf("docs/commands.md");
    const isServer = name === "up" || name === "server";
    const shared = isServer ? (sections.get("Flags of orlop up and orlop server") ?? "") : "";
    const rows = [...rowsOf(sections.get(heading) ?? ""), ...rowsOf(shared)].filter(([cell = ""]) =>
      /^--?[a-z]/.test(cell),
    );

    const documented = rows.flatMap(([cell = ""]) => cell.split(", "));
    const declared = Object.entries(flags).flatMap(([flag, { short, value }]) => [
      ...(short ? [`-${short}`] : []),
      `--${flag}${value ? ` ${value}` : ""}`,
    ]);
    assert.deepEqual(documented.sort(), declared.sort());

    for (const [cell = "", preset] of rows) {
      const { type, default: value } = flags[/--([a-z-]+)/.exec(cell)?.[1] ?? ""] ?? {};
      const isOfMachine = cell.startsWith("--node-name");
      if (type === "string" && value && !isOfMachine) assert.equal(preset, value, `the default of ${cell}`);
    }
  });
}

test("every file of the repository that a document names is there", () => {
  const named = pages.flatMap((page) => {
    const text = readFileSync(path.join(root, page), "utf8");
    return [...text.matchAll(/(?<![\w./-])(?:src|test|bench|examples|docs|package)\/[\w./-]+\.(?:ts|yaml|md)\b/g)].map(
      ([file]) => ({ page, file }),
    );
  });
  const missing = named.filter(({ file }) => !existsSync(path.join(root, file)));

  assert.deepEqual(
    missing.map(({ page, file }) => `${page} names ${file}`),
    [],
  );
  assert(named.length > 20);
});

const count = (value: number): string => value.toLocaleString("en-US");
const size = (bytes: number): string => (bytes < 1 << 20 ? `${bytes >> 10} KiB` : `${bytes >> 20} MiB`);
const seconds = (ms: number): string => `${ms / 1000} s`;

/** What the cells "limit" of the tables in docs/server.md begin with. */
const limitsOfCallers: Readonly<Record<string, string>> = (() => {
  const it = defaultLimits;
  const [few, many] = [strangerSettings.maxConcurrentStreams, userSettings.maxConcurrentStreams];
  return {
    "unauthenticated connections": `${count(it.strangers)} in total`,
    "unauthenticated connections per address": `${count(it.strangersPerAddress)}, once the oldest of them is ${seconds(it.speakingMs)} old (${seconds(it.silentMs)} if it has sent nothing)`,
    connections: `${count(it.connectionsPerUser)} per user, ${count(it.connections)} in total`,
    "streams per connection": `${count(few)} while unauthenticated, then ${count(many)}`,
    "streams of all unauthenticated connections": count(it.strangerStreams),
    "frames that are neither request nor body": `${size(it.strangerFrameBytes)} per second while unauthenticated, then ${size(it.frameBytes)} per second`,
    "requests in progress": `${count(it.requestsPerUser)} per user`,
    watches: `${count(it.watchesPerUser)} per user, ${count(it.watchesPerAddress)} per anonymous address, ${count(it.watches)} in total; every user is guaranteed ${count(it.watchesAlways)}`,
    body: size(maxBodyBytes),
    "body of a review": size(maxReviewBytes),
    "values in a body": `${count(maxValues)}, nested at most ${count(maxDepth)} levels deep; at most ${count(maxMembers)} in one list or map`,
    "bodies being received or processed": `${size(it.bodyBytesPerUser)} per user, ${size(it.bodyBytes)} in total; every user is guaranteed ${size(it.bodyBytesAlways)}`,
    [`bodies of ${size(it.largeBodyBytes)} or more, and compressed bodies`]: `${it.largeBodiesPerUser} per user and ${it.largeBodies} in total`,
    "unread responses": `${size(it.unsentBytesPerConnection)} per connection, ${size(it.unsentBytesPerUser)} per user, ${size(it.unsentBytes)} in total; every user is guaranteed ${size(it.unsentBytesAlways)}`,
    "TLS handshake": seconds(it.handshakeMs),
    "headers (HTTP/1.1)": seconds(it.headersMs),
    "receiving a body": seconds(it.bodyMs),
    "response without progress": seconds(it.stallMs),
    "idle connection": seconds(it.idleMs),
  };
})();

test("docs/server.md has the limits and deadlines of callers as they are", () => {
  const rows = rowsOf(sectionsOf("docs/server.md").get("What protects the server from its callers?") ?? "");
  for (const [what, limit] of Object.entries(limitsOfCallers)) {
    const cell = rows.find(([name]) => name === what)?.[1] ?? `no row for ${what}`;
    assert.equal(cell.slice(0, limit.length), limit, what);
  }
  const strangers = rows.filter(([name]) => name === "response without progress" || name === "idle connection");
  assert.deepEqual(
    strangers.map(([, , limit]) => limit),
    [defaultLimits.strangerStallMs, defaultLimits.strangerIdleMs].map(seconds),
  );
});

function supported(area: string): string[] {
  const [, cell = ""] =
    rowsOf(readFileSync(path.join(root, "docs/supported.md"), "utf8")).find(([name]) => name === area) ?? [];
  return namesIn(cell);
}
/** Without what stands in parentheses. */
const namesIn = (cell: string): string[] => (cell === "" ? [] : cell.replaceAll(/ \([^)]*\)/g, "").split(", "));

test("docs/supported.md lists every kind that is served", () => {
  const rows = rowsOf(sectionsOf("docs/supported.md").get("Kinds") ?? "").slice(2);
  const listed = rows.flatMap(([group = "", ...cells]) =>
    cells.flatMap((cell) => namesIn(cell).map((kind) => `${kind} of ${group}`)),
  );
  const served = new Set([...allResources, ComponentStatus].map(({ kind, group }) => `${kind} of ${group || "core"}`));

  assert.deepEqual(listed.sort(), [...served].sort());
  assert.match(readFileSync(path.join(root, "docs/supported.md"), "utf8"), new RegExp(`\\[${served.size} kinds of `));
});

test("docs/supported.md lists the admission plugins in their order", () => {
  const rbac = { rulesFor: () => ({ rules: [], faults: [] }), rulesOfRole: () => [] };
  const [informers, clock] = [createFakeInformers(), createVirtualClock()];
  const plugins = builtInAdmission({
    informers,
    resources: new ResourceRegistry(allResources),
    views: { scaleOf: (_, object) => object, setScale: () => undefined },
    clock,
    random: seededRandom(1),
    rbac,
    authorizers: [],
    storeQuota: async () => true,
  });
  assert.deepEqual(
    supported("admission"),
    plugins.map(({ name }) => name),
  );
});

test("docs/scheduler.md and docs/supported.md list the scheduler's plugins in their order, with their weights", () => {
  const { plugins } = testProfile();
  const rows = rowsOf(sectionsOf("docs/scheduler.md").get("Plugins") ?? "").filter(([name = ""]) =>
    /^[A-Z]/.test(name),
  );

  assert.deepEqual(
    rows.map(([name, , score = ""]) => [name, /\((\d+)\)$/.exec(score)?.[1]]),
    plugins.map(({ name, weight }) => [name, weight?.toString()]),
  );
  assert.deepEqual(
    supported("scheduler"),
    plugins.map(({ name }) => name),
  );
});

test("docs/controllers.md lists every controller that runs", () => {
  const source = readFileSync(path.join(root, "src/controllers/all.ts"), "utf8");
  const run = [...source.matchAll(/^import .*"\.\/(.+\.ts)";$/gm)].map(([, file = ""]) => `src/controllers/${file}`);
  const listed = new Set(links.filter(({ page }) => page === "docs/controllers.md").map(({ file }) => file));

  assert.deepEqual(
    run.filter((file) => !listed.has(file)),
    [],
  );
  assert(run.length > 10);
});

test("docs/controllers.md tells which of upstream's controllers do not run", () => {
  const rows = rowsOf(sectionsOf("docs/controllers.md").get("Choosing controllers") ?? "");
  const absent = rows.flatMap(([name = ""]) => /^`?([a-z-]+-controller)`?$/.exec(name)?.[1] ?? []);

  // Controllers of our own are in the first table, which another test compares.
  const present = [...controllerNames].filter((name) => upstreamControllers.has(name));
  assert.deepEqual([...absent, ...present].toSorted(), [...upstreamControllers.keys()].toSorted());
});

test("docs/seeing.md numbers the hops as the traces do", () => {
  const rows = rowsOf(sectionsOf("docs/seeing.md").get("What is a hop?") ?? "");
  const named = rows.flatMap(([first, hop, , later, laterHop]) => [`${first} ${hop}`, `${later} ${laterHop}`]);

  for (const [index, name] of Object.values(hopNames).entries()) {
    assert(named.includes(`${index + 1} ${name}`), `no hop ${index + 1}, ${name}`);
  }
});

test("docs/store.md shows the tables of the file as they are created", () => {
  const tablesIn = (text: string): string[] =>
    [...text.replaceAll(/ -- .*$/gm, "").matchAll(/CREATE TABLE [^;]+;/g)].map(([table]) =>
      table.replaceAll(/\s+/g, " "),
    );
  const [page = "", source = ""] = ["docs/store.md", "src/store/sqlite-file.ts"].map((file) =>
    readFileSync(path.join(root, file), "utf8"),
  );

  assert.deepEqual(tablesIn(page), tablesIn(source));
  assert.equal(tablesIn(page).length, 2);
});
