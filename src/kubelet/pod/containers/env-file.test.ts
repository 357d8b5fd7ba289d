import assert from "node:assert/strict";
import { test } from "node:test";
import { parseEnvFile, readEnvFiles, variableIn } from "./env-file.ts";

const volume = { path: "/v", readOnly: false };

test("variableIn() returns the first value, and ignores an error after it", () => {
  const file = parseEnvFile("# note\nA='1'\nA='2'\nB='two\nlines' # end\nC= 'x'\nbroken\n");

  assert.equal(variableIn(file, "A"), "1");
  assert.equal(variableIn(file, "B"), "two\nlines");
  assert.equal(variableIn(file, "C"), undefined);
  assert.throws(() => variableIn(file, "D"), /at line 7: missing '='/);
});

for (const [name, text, fault] of [
  ["blanks", `A${" ".repeat(65_000)}`, /missing '='/],
  ["blanks before =", `A${" ".repeat(65_000)}=x`, /whitespace before '='/],
  ["lines without a quote", `A='${"\n".repeat(65_000)}`, /unclosed single quote/],
] as const) {
  test(`parseEnvFile() reports the error in 64 KiB of ${name}`, () => {
    assert.throws(() => variableIn(parseEnvFile(text), "A"), fault);
  });
}

test("readEnvFiles() reads each file once, within a limit", async () => {
  const reads: string[] = [];
  const read = async (_volume: object, path: string) => {
    reads.push(path);
    return path === "none" ? undefined : "A='x'\n".padEnd(65_000, "#");
  };
  const refs = (count: number, path: (at: number) => string) =>
    Array.from({ length: count }, (_, at) => ({ volumeName: "v", path: path(at) }));
  const volumes = new Map([["v", volume]]);

  const files = await readEnvFiles(
    refs(1000, (at) => (at % 2 === 0 ? "even" : "none")),
    volumes,
    read,
  );
  assert.deepEqual(reads, ["even", "none"]);
  assert.equal(files.get("v")?.get("even")?.("A"), "x");
  assert.equal(files.get("v")?.get("none")?.("A"), undefined);
  await assert.rejects(readEnvFiles(refs(1000, String), volumes, read), /env files are longer/);
  assert.equal(reads.length, 2 + 17);
  await assert.rejects(readEnvFiles([{ volumeName: "w", path: "p" }], volumes, read), /cannot find the volume "w"/);
});
