import assert from "node:assert/strict";
import { appendFile, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { afterEach, beforeEach, suite, test } from "node:test";
import { gunzipSync } from "node:zlib";
import type { LogOptions } from "#kubelet/runtime/runtime.ts";
import { readLog } from "./read-log.ts";
import { removeLogFiles, rotateLog } from "./rotate-log.ts";

const at = (second: number) => `2026-01-31T12:00:0${second}.123456789Z`;
const sample = [
  `${at(0)} stdout F first`,
  `${at(1)} stderr F bad`,
  `${at(2)} stdout P half `,
  `${at(3)} stdout F whole`,
  "cut by a crash",
  `${at(4)} stdout F `,
].join("\n");

suite("logs", { timeout: 120_000 }, () => {
  let dir: string;
  let path: string;
  beforeEach(async () => {
    dir = await mkdtemp(`${tmpdir()}/orlop-logs-`);
    path = `${dir}/0.log`;
    await writeFile(path, `${sample}\n`);
  });
  afterEach(() => rm(dir, { recursive: true }));

  const cases: { name: string; options: LogOptions; text: string }[] = [
    { name: "all", options: {}, text: "first\nbad\nhalf whole\n\n" },
    { name: "the last lines", options: { tailLines: 3 }, text: "whole\n\n" },
    { name: "none", options: { tailLines: 0 }, text: "" },
    { name: "more lines than there are", options: { tailLines: 99 }, text: "first\nbad\nhalf whole\n\n" },
    { name: "one stream", options: { stream: "stderr" }, text: "bad\n" },
    { name: "what came since", options: { sinceMs: Date.parse(at(3)) }, text: "whole\n\n" },
    { name: "a limited number of bytes", options: { limitBytes: 8 }, text: "first\nba" },
    {
      name: "one timestamp per line",
      options: { timestamps: true, stream: "stdout" },
      text: `${at(0)} first\n${at(2)} half whole\n${at(4)} \n`,
    },
    { name: "with times", options: { timestamps: true, tailLines: 1 }, text: `${at(4)} \n` },
  ];
  for (const { name, options, text } of cases) {
    test(`readLog() gives ${name}`, async () => {
      const chunks = await Array.fromAsync(readLog(path, options));

      assert.equal(Buffer.concat(chunks).toString(), text);
    });
  }

  test("readLog() finds the last lines of a large file", async () => {
    const lines = Array.from({ length: 20_000 }, (_, n) => `${at(0)} stdout F line ${n}\n`);
    await writeFile(path, lines.join(""));

    const chunks = await Array.fromAsync(readLog(path, { tailLines: 5000 }));

    const text = Buffer.concat(chunks).toString().trimEnd().split("\n");
    assert.deepEqual([text.length, text[0], text.at(-1)], [5000, "line 15000", "line 19999"]);
  });

  test("readLog() follows new lines, across a rotation, until the container ends", async () => {
    const ended = new AbortController();
    const reader = readLog(path, { followUntil: ended.signal });
    const next = async () => (await reader.next()).value?.toString();
    await next();

    const first = next();
    await appendFile(path, `${at(5)} stdout F more\n`);
    assert.equal(await first, "more\n");

    const moved = next();
    await rename(path, `${path}.old`);
    await appendFile(`${path}.old`, `${at(6)} stdout F last of old\n`);
    assert.equal(await moved, "last of old\n");
    const fresh = next();
    await writeFile(path, `${at(7)} stdout F new file\n`);
    assert.equal(await fresh, "new file\n");

    const over = next();
    await appendFile(path, `${at(8)} stdout F bye\n`);
    ended.abort();
    assert.equal(await over, "bye\n");
    assert.equal(await next(), undefined);
  });

  test("readLog() stops when its reader stops", async () => {
    const leave = new AbortController();
    const reader = readLog(path, { followUntil: new AbortController().signal, signal: leave.signal });
    await reader.next();
    const waiting = reader.next();

    leave.abort(new Error("left"));

    await assert.rejects(waiting, /left/);
  });

  test("rotateLog() renames, compresses and removes files", async () => {
    const rotate = (nowMs: number) =>
      rotateLog({
        path,
        maxBytes: 10,
        maxFiles: 3,
        nowMs,
        mayCompress: true,
        reopen: () => writeFile(path, "x".repeat(20)),
      });
    const noon = Date.parse("2026-01-31T12:00:00Z");

    assert(await rotate(noon));
    assert(await rotate(noon + 1000));
    assert(await rotate(noon + 2000));

    assert.deepEqual((await readdir(dir)).toSorted(), ["0.log", "0.log.20260131-120001.gz", "0.log.20260131-120002"]);
    assert.equal(gunzipSync(await readFile(`${path}.20260131-120001.gz`)).toString(), "x".repeat(20));
  });

  test("rotateLog() keeps the files of a fast writer within their limit, and compresses only if allowed", async () => {
    const reopen = () => writeFile(path, "x".repeat(35));
    await reopen();

    for (let round = 0; round < 8; round++) {
      assert(await rotateLog({ path, maxBytes: 10, maxFiles: 10, nowMs: 0, mayCompress: false, reopen }));
    }

    const moved = (await readdir(dir)).filter((name) => name !== "0.log");
    assert.deepEqual(moved.toSorted(), ["0.log.19700101-000000.0006", "0.log.19700101-000000.0007"]);
    await removeLogFiles(path);
    assert.deepEqual(await readdir(dir), []);
  });

  test("rotateLog() leaves small logs alone, and restores the file if the runtime does not reopen it", async () => {
    const fail = async () => {
      throw new Error("runtime is unreachable");
    };

    assert(!(await rotateLog({ path, maxBytes: 1 << 20, maxFiles: 3, nowMs: 0, mayCompress: true, reopen: fail })));
    await assert.rejects(
      rotateLog({ path, maxBytes: 1, maxFiles: 3, nowMs: 0, mayCompress: true, reopen: fail }),
      /unreachable/,
    );
    assert.equal(await readFile(path, "utf8"), `${sample}\n`);
  });
});
