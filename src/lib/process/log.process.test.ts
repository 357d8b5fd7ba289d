import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { closeSync, existsSync, openSync } from "node:fs";
import { test } from "node:test";
import { jsonLog } from "./log.ts";

test("a full disk costs log lines, but does not end the process", { skip: !existsSync("/dev/full") }, () => {
  const full = openSync("/dev/full", "w");
  const script = `import { jsonLog, writeStandardError } from ${JSON.stringify(import.meta.resolve("./log.ts"))};
    const log = jsonLog(writeStandardError);
    log.info("lost");
    setImmediate(() => { log.info("lost too"); process.stdout.write("lives"); });`;

  const { stdout, status } = spawnSync(process.execPath, ["--input-type=module", "--eval", script], {
    stdio: ["ignore", "pipe", full],
  });
  closeSync(full);

  assert.equal(stdout.toString(), "lives");
  assert.equal(status, 0);
});

const lineOf = (fields: Record<string, unknown>): string => {
  const lines: string[] = [];
  jsonLog((line) => lines.push(line)).info("said", fields);
  return lines.join("");
};

test("the length of a line is bounded, whatever its fields contain", () => {
  const circle: Record<string, unknown> = {};
  circle.self = circle;
  const wide = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`key${index}`, "x".repeat(100)]));
  const cases = [
    { text: "x".repeat(10_000_000) },
    { list: Array.from({ length: 100_000 }, () => "x".repeat(1_000)) },
    { wide },
    { circle },
    { error: new Error("x".repeat(1_000_000), { cause: new Error("y".repeat(1_000_000)) }) },
    { big: 1n, symbol: Symbol("s"), call: () => 1, date: new Date(Number.NaN), bytes: Buffer.alloc(1_000_000) },
  ];
  for (const fields of cases) {
    const line = lineOf(fields);
    assert(line.length < 40_000, `${Object.keys(fields)}: ${line.length}`);
    assert.equal(JSON.parse(line).message, "said");
  }
});

test("a line shows the value of a bigint", () => {
  assert.equal(JSON.parse(lineOf({ bytes: 2n ** 64n })).bytes, "18446744073709551616");
});

test("a line shows the message of an error and of its causes", () => {
  const { error } = JSON.parse(lineOf({ error: new TypeError("outer", { cause: new Error("inner") }) }));

  assert.deepEqual([error.name, error.message, error.cause.message], ["TypeError", "outer", "inner"]);
  assert.match(error.stack, /log\.process\.test/);
});

test("text from users cannot control the terminal", () => {
  const line = lineOf({ name: "a\u001b[2Jb\u009b31mc\nd\u202ee\u2028" });

  assert.match(line, /^[ -~…]+\n$/);
  assert.equal(JSON.parse(line).name, "a\u001b[2Jb\u009b31mc\nd\u202ee\u2028");
});
