import assert from "node:assert/strict";
import { test } from "node:test";
import { filesystemType, mount } from "#lib/fs/mounts.ts";
import { runCommand } from "./processes.ts";

test("operands are passed after `--`", async () => {
  const { stdout } = await runCommand("echo", ["-n", "a"], { operands: ["b", "c d"] });

  assert.equal(stdout, "a -- b c d");
});

for (const operand of ["-T/etc/fstab", "--help", "-", "", "a\0b"]) {
  test(`runCommand() refuses the operand ${JSON.stringify(operand)}`, () => {
    assert.throws(() => runCommand("echo", [], { operands: [operand] }), /not an operand of a program/);
  });
}

for (const type of ["-t", "../sh", "nfs,exec", "ext4 ", "", "EXT4"]) {
  test(`mount() refuses the file system type ${JSON.stringify(type)}`, async () => {
    assert.throws(() => filesystemType(type), /not a file system type/);
    await assert.rejects(mount({ type, source: "none", target: "/nowhere" }), /not a file system type/);
  });
}
