import assert from "node:assert/strict";
import { type FileHandle, mkdir, mkdtemp, open, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { type AuditEvent } from "./event.ts";
import { type AuditLogOptions, openAuditLog } from "./log-writer.ts";

const event = (n: number): AuditEvent => ({
  stage: "ResponseComplete",
  rest: `"n":${n}}`,
  legacy: () => `n=${n}`,
  withoutBodies: () => event(n),
});

async function setUp(more: Partial<AuditLogOptions> = {}) {
  const dir = await mkdtemp(path.join(tmpdir(), "orlop-audit-"));
  const file = path.join(dir, "logs", "audit.log");
  const clock = createVirtualClock();
  const options = {
    path: file,
    format: "json",
    maxBytes: 0,
    maxBackups: 0,
    maxAgeMs: 0,
    compress: false,
    ...more,
  } as const;
  return {
    dir,
    file,
    clock,
    open: (openFile?: (file: string) => Promise<FileHandle>) => openAuditLog(options, clock, openFile),
    files: async () => (await readdir(path.dirname(file))).sort(),
    async [Symbol.asyncDispose]() {
      await rm(dir, { recursive: true });
    },
  };
}

test("the log has one line for each event, and a new server adds to it", async () => {
  await using log = await setUp();
  for (let n = 0; n < 2; n++) {
    await using writer = await log.open();
    await writer.write([event(2 * n), event(2 * n + 1)]);
  }

  const lines = (await readFile(log.file, "utf8")).trimEnd().split("\n");
  assert.deepEqual(
    lines.map((line) => JSON.parse(line)),
    [0, 1, 2, 3].map((n) => ({ kind: "Event", apiVersion: "audit.k8s.io/v1", n })),
  );
});

test("the legacy format is one line of text", async () => {
  await using log = await setUp({ format: "legacy" });
  await using writer = await log.open();
  await writer.write([event(1), event(2)]);

  assert.equal(await readFile(log.file, "utf8"), "n=1\nn=2\n");
});

test("rotation loses no line, and keeps as many files as it is told", async () => {
  await using log = await setUp({ maxBytes: 200, maxBackups: 0 });
  await using writer = await log.open();
  for (let n = 0; n < 50; n++) await writer.write([event(n)]);

  const files = await log.files();
  const texts = await Promise.all(files.map((name) => readFile(path.join(path.dirname(log.file), name), "utf8")));
  const seen = texts.flatMap((text) =>
    text
      .trimEnd()
      .split("\n")
      .map((line) => (JSON.parse(line) as { n: number }).n),
  );
  assert(files.length > 10);
  assert.match(files[0] ?? "", /^audit-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}\.log$/);
  assert(texts.every((text) => text.length <= 200));
  assert.deepEqual(
    seen.sort((a, b) => a - b),
    Array.from({ length: 50 }, (_, n) => n),
  );
});

test("old rotated files are removed by number and by age, and other files are not", async () => {
  await using log = await setUp({ maxBytes: 10, maxBackups: 3, maxAgeMs: 86_400_000 });
  await mkdir(path.dirname(log.file), { recursive: true });
  for (const name of ["audit-notes.log", "audit-1999.log.gz", "other.log"]) {
    await writeFile(path.join(path.dirname(log.file), name), "keep");
  }
  for (const left of ["", ".tmp"]) {
    await writeFile(path.join(path.dirname(log.file), `audit-1999-01-01T00-00-00.000.log${left}`), "left");
  }
  {
    await using writer = await log.open();
    for (let n = 0; n < 10; n++) {
      await writer.write([event(n)]);
      await log.clock.advance(1000);
    }
  }
  assert.equal((await log.files()).length, 3 + 1 + 3);
  await log.clock.advance(2 * 86_400_000);
  {
    await using writer = await log.open();
    await writer.write([event(10)]);
  }

  assert.equal((await log.files()).length, 1 + 1 + 3);
});

test("rotated files are compressed, also those that an earlier server left, and count as rotated files", async () => {
  await using log = await setUp({ maxBytes: 10, maxBackups: 3, compress: true });
  const directory = path.dirname(log.file);
  await mkdir(directory, { recursive: true });
  await writeFile(path.join(directory, "audit-1999-01-01T00-00-00.000.log"), "left");
  await using writer = await log.open();
  for (let n = 0; n < 3; n++) await writer.write([event(n)]);
  const isCompressed = async () =>
    (await log.files()).filter((name) => name.endsWith(".gz")).length === 3 && (await log.files()).length === 4;
  while (!(await isCompressed())) await new Promise(setImmediate);

  const [oldest = "", older = ""] = await log.files().then((names) => names.filter((name) => name.endsWith(".gz")));
  assert.equal(gunzipSync(await readFile(path.join(directory, oldest))).toString(), "left");
  assert.match(gunzipSync(await readFile(path.join(directory, older))).toString(), /^\{.*"n":0\}\n$/);
  await writer.write([event(3)]);
  while ((await log.files()).includes(oldest)) await new Promise(setImmediate);
});

test("a log that cannot be written is reported at the start, in one line", async () => {
  await using log = await setUp();
  await writeFile(path.join(log.dir, "logs"), "a file");

  await assert.rejects(log.open(), /cannot write the audit log .*: choose another file with --audit-log-path$/);
});

test("a device that is full loses lines and ends nothing", async () => {
  // Linux answers every write to this device with ENOSPC.
  const options = {
    path: "/dev/full",
    format: "json",
    maxBytes: 0,
    maxBackups: 0,
    maxAgeMs: 0,
    compress: false,
  } as const;
  const writer = await openAuditLog(options, createVirtualClock());

  await assert.rejects(writer.write([event(1)]), /ENOSPC/);
  await assert.rejects(writer.write([event(2)]), /ENOSPC/);
  await writer[Symbol.asyncDispose]();
});

for (const canTruncate of [true, false]) {
  const how = canTruncate ? "" : ", even if the half cannot be removed";
  test(`a disk that takes half of a line leaves the others whole when there is space again${how}`, async () => {
    await using log = await setUp();
    const disk = { isFull: false };
    await using writer = await log.open(async (name) => {
      const file = await open(name, "a");
      const writeFile = async (bytes: Uint8Array): Promise<void> => {
        if (!disk.isFull) return await file.appendFile(bytes);
        await file.appendFile(bytes.subarray(0, bytes.length / 2));
        throw new Error("ENOSPC: no space left on device");
      };
      const truncate = async (size: number): Promise<void> => {
        if (!canTruncate) throw new Error("EIO");
        await file.truncate(size);
      };
      const parts = { stat: () => file.stat(), close: () => file.close(), writeFile, truncate };
      return parts as unknown as FileHandle;
    });
    await writer.write([event(0)]);
    disk.isFull = true;
    await assert.rejects(writer.write([event(1), event(2)]), /ENOSPC/);
    disk.isFull = false;
    await writer.write([event(3)]);

    const lines = (await readFile(log.file, "utf8")).trimEnd().split("\n");
    const whole = lines.filter((line) => line.endsWith("}")).map((line) => (JSON.parse(line) as { n: number }).n);
    assert.equal(whole[0], 0);
    assert.equal(whole.at(-1), 3);
    assert.equal(lines.length - whole.length, canTruncate ? 0 : 1);
  });
}
