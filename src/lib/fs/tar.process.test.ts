import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runCommand } from "#lib/process/processes.ts";
import { tar } from "./tar.ts";

test("tar() makes an archive that the tar program reads", async () => {
  const long = `${"deep/".repeat(30)}name`;
  const bytes = tar([
    { path: "dir", type: "directory", mode: 0o700 },
    { path: "dir/run", content: Buffer.from("#!"), mode: 0o755 },
    { path: "link", type: "symlink", target: long },
    { path: long, content: Buffer.from("x".repeat(513)) },
  ]);

  const { stdout } = await runCommand("tar", ["--list", "--verbose", "--numeric-owner", "--utc", "-f", "-"], {
    input: bytes,
  });

  const lines = stdout.trimEnd().split("\n");
  assert.deepEqual(
    lines.map((line) => line.replace(/ +/g, " ")),
    [
      "drwx------ 0/0 0 1970-01-01 00:00 dir/",
      "-rwxr-xr-x 0/0 2 1970-01-01 00:00 dir/run",
      `lrwxrwxrwx 0/0 0 1970-01-01 00:00 link -> ${long}`,
      `-rw-r--r-- 0/0 513 1970-01-01 00:00 ${long}`,
    ],
  );
});

test("the tar program unpacks any files that tar() packed, byte for byte", async () => {
  const name = fc.string({ unit: fc.constantFrom(..."abcxyzäö漢_-."), minLength: 1, maxLength: 120 });
  const entry = fc.record({ name: name.map((text) => `f${text}`), content: fc.string({ maxLength: 1500 }) });
  const entries = fc.uniqueArray(entry, { selector: (one) => one.name, minLength: 1, maxLength: 5 });

  await fc.assert(
    fc.asyncProperty(entries, async (files) => {
      const bytes = tar(files.map(({ name: path, content }) => ({ path, content: Buffer.from(content) })));

      const { stdout } = await runCommand("tar", ["-x", "-O", "-f", "-"], { input: bytes });

      assert.equal(stdout, files.map(({ content }) => content).join(""));
    }),
    { numRuns: 25 },
  );
});
