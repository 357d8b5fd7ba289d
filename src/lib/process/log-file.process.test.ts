import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { closeSync, openSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync, writeSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, suite, test } from "node:test";
import { openLogFile, rotateLogFile } from "./log-file.ts";

suite("a log file", () => {
  let dir: string;
  const at = (name: string): string => path.join(dir, name);

  before(async () => {
    dir = await mkdtemp(`${tmpdir()}/orlop-log-`);
  });
  after(() => rm(dir, { recursive: true }));

  test("keeps the newest lines in a limited number of files of limited size", async () => {
    const limits = { maxBytes: 10_000, files: 3 };
    const write = openLogFile(at("a.log"), limits);

    for (let index = 0; index < 5_000; index++) write(`line ${index}\n`);
    await write.idle();

    const names = readdirSync(dir).filter((name) => name.startsWith("a.log"));
    assert.deepEqual(names.sort(), ["a.log", "a.log.1", "a.log.2"]);
    for (const name of names) assert(statSync(at(name)).size < 13_000, name);
    const kept = ["a.log.2", "a.log.1", "a.log"].map((name) => readFileSync(at(name), "utf8")).join("");
    const first = Number(/^line (\d+)/.exec(kept)?.[1]);
    const expected = Array.from({ length: 5_000 - first }, (_, index) => `line ${first + index}\n`).join("");
    assert.equal(kept, expected, "no line is missing between the first and the last");
    assert.equal(statSync(at("a.log.1")).mode & 0o777, 0o600);
  });

  test("remains the same file for another process that writes to it", async () => {
    writeFileSync(at("b.log"), "x".repeat(20_000));
    const other = openSync(at("b.log"), "a");

    await rotateLogFile(at("b.log"), { maxBytes: 10_000, files: 3 });
    writeSync(other, "last words\n");
    closeSync(other);

    assert.equal(readFileSync(at("b.log"), "utf8"), "last words\n");
    assert.equal(statSync(at("b.log.1")).size, 20_000);
  });

  test("is recognised by a process that has it as its standard error", () => {
    const module = JSON.stringify(import.meta.resolve("./log-file.ts"));
    const script = `import { isStandardError } from ${module};
      process.stdout.write(process.argv.slice(1).map(isStandardError).join());`;
    writeFileSync(at("other.log"), "");
    const stderr = openSync(at("mine.log"), "a");
    const { stdout } = spawnSync(
      process.execPath,
      ["--input-type=module", "--eval", script, at("mine.log"), at("other.log"), at("missing.log")],
      { stdio: ["ignore", "pipe", stderr] },
    );
    closeSync(stderr);

    assert.equal(stdout.toString(), "true,false,false");
  });

  test("is created again when somebody removes it", async () => {
    const write = openLogFile(at("c.log"), { maxBytes: 400, files: 2 });
    write("one\n");
    await write.idle();
    rmSync(at("c.log"));

    for (let index = 0; index < 100; index++) write(`line ${index}\n`);
    await write.idle();

    assert.match(readFileSync(at("c.log"), "utf8"), /line 99\n$/);
  });

  test("writes what is waiting when the process exits", () => {
    const script = `import { openLogFile } from ${JSON.stringify(import.meta.resolve("./log-file.ts"))};
      const write = openLogFile(process.argv[1]);
      write("first\\n");
      write("last\\n");
      process.exit(0);`;
    spawnSync(process.execPath, ["--input-type=module", "--eval", script, at("e.log")]);

    assert.equal(readFileSync(at("e.log"), "utf8"), "first\nlast\n");
  });

  test("keeps a limited number of lines waiting", async () => {
    const write = openLogFile(at("f.log"));
    const line = `${"x".repeat(1023)}\n`;

    for (let index = 0; index < 2000; index++) write(line);
    await write.idle();

    assert.equal(statSync(at("f.log")).size, 1024 * 1024);
  });

  test("loses lines on a full disk, and is written again when there is space", (t) => {
    const disk = at("disk");
    const script = `mkdir ${disk} && mount -t tmpfs -o size=64k tmpfs ${disk}`;
    if (process.getuid?.() !== 0 || spawnSync("unshare", ["-m", "sh", "-c", script]).status !== 0) {
      t.skip("needs root");
      return;
    }
    rmSync(disk, { recursive: true, force: true });
    const program = `import { openLogFile } from ${JSON.stringify(import.meta.resolve("./log-file.ts"))};
      import { rmSync, writeFileSync } from "node:fs";
      const write = openLogFile("${disk}/d.log", { maxBytes: 30_000, files: 3 });
      try { writeFileSync("${disk}/filler", "x".repeat(60_000)); } catch {}
      for (let index = 0; index < 5_000; index++) write("lost or kept " + index + "\\n");
      await write.idle();
      rmSync("${disk}/filler");
      write("kept\\n");
      await write.idle();
      process.stdout.write("lives " + (await import("node:fs")).readFileSync("${disk}/d.log", "utf8").endsWith("kept\\n"));`;
    const node = `${process.execPath} --input-type=module --eval '${program.replaceAll("'", "'\\''")}'`;
    const { stdout, stderr } = spawnSync("unshare", ["-m", "sh", "-c", `${script} && ${node}`]);

    assert.equal(stdout.toString(), "lives true", stderr.toString());
  });
});
