import assert from "node:assert/strict";
import { test } from "node:test";
import { filesystemType, mount } from "./mounts.ts";
import { runCommand } from "./processes.ts";

test("operands stand behind `--`", async () => {
  const { stdout } = await runCommand("echo", ["-n", "a"], { operands: ["b", "c d"] });

  assert.equal(stdout, "a -- b c d");
});

for (const operand of ["-T/etc/fstab", "--help", "-", "", "a\0b"]) {
  test(`no program gets the operand ${JSON.stringify(operand)}`, () => {
    assert.throws(() => runCommand("echo", [], { operands: [operand] }), /not an operand of a program/);
  });
}

for (const type of ["-t", "../sh", "nfs,exec", "ext4 ", "", "EXT4"]) {
  test(`${JSON.stringify(type)} is no type of file system`, async () => {
    assert.throws(() => filesystemType(type), /not a type of file system/);
    await assert.rejects(mount({ type, source: "none", target: "/nowhere" }), /not a type of file system/);
  });
}
