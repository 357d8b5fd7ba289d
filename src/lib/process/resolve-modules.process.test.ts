import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { runCommand } from "./processes.ts";

test("# imports of a dependency resolve inside that dependency", async () => {
  const dir = await mkdtemp(`${tmpdir()}/orlop-modules-`);
  const files = {
    "src/main.ts": `
      import { own } from "#lib/data/own.ts";
      import { theirs } from "dependency";
      const text: string = own + " " + theirs;
      console.log(text);`,
    "src/lib/data/own.ts": `export const own: string = "own";`,
    "node_modules/dependency/package.json": JSON.stringify({
      name: "dependency",
      type: "module",
      exports: "./index.js",
      imports: { "#lib/data/own.ts": "./inner.js" },
    }),
    "node_modules/dependency/index.js": `export { theirs } from "#lib/data/own.ts";`,
    "node_modules/dependency/inner.js": `export const theirs = "theirs";`,
    "start.js": `
      import { resolveModules } from ${JSON.stringify(pathToFileURL(`${import.meta.dirname}/resolve-modules.ts`).href)};
      resolveModules(new URL("src/", import.meta.url).href);
      await import("./src/main.ts");`,
    "package.json": JSON.stringify({ type: "module" }),
  };
  for (const [name, text] of Object.entries(files)) {
    await mkdir(path.dirname(`${dir}/${name}`), { recursive: true });
    await writeFile(`${dir}/${name}`, text);
  }

  // main.ts is imported by a file outside of src, as the tests and the launcher do.
  const { stdout, stderr } = await runCommand(process.execPath, [`${dir}/start.js`]);

  await rm(dir, { recursive: true });
  assert.equal(stdout.trim(), "own theirs", stderr);
});
