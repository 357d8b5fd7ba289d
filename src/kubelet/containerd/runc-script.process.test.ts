import assert from "node:assert/strict";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { test } from "node:test";
import type { CgroupMode } from "#kubelet/resources/cgroups.ts";
import { hasOomNote, removeOomNote } from "#kubelet/runtime/oom-notes.ts";
import { runCommand } from "#lib/process/processes.ts";
import { renderRuncScript } from "./runc-script.ts";

const id = "c1";

for (const mode of ["v1", "hybrid", "v2"] satisfies CgroupMode[]) {
  test(`${mode}: the count of kills is recorded before runc deletes the container`, async () => {
    await using machine = await aMachine(mode);
    await machine.addContainer(`kubepods/burstable/podx/${id}`, 2);

    await machine.runc("--root", "/r", "delete", id);

    assert.equal(await machine.seenByRunc(), `--root /r delete ${id}: ${id}\n`);
    assert(await hasOomNote(machine.notes, id));
    await removeOomNote(machine.notes, id);
    await removeOomNote(machine.notes, id);
    assert(!(await hasOomNote(machine.notes, id)));
  });
}

test("a guaranteed pod, whose cgroup has no class above it, is recorded too", async () => {
  await using machine = await aMachine("v2");
  await machine.addContainer(`kubepods/podx/${id}`, 1);

  await machine.runc("delete", "--force", id);

  assert(await hasOomNote(machine.notes, id));
});

test("nothing is recorded for other commands, other containers, or without a kill", async () => {
  await using machine = await aMachine("v1");
  await machine.addContainer(`kubepods/burstable/podx/${id}`, 1);
  await machine.addContainer("kubepods/burstable/podx/c2", 0);

  for (const args of [
    ["start", id],
    ["kill", id, "9"],
    ["delete", "c2"],
    ["delete", "c3"],
  ])
    await machine.runc(...args);

  assert.deepEqual(await readdir(machine.notes), []);
});

test("runc gets its arguments unchanged, and its exit code is the script's", async () => {
  await using machine = await aMachine("v1", "exit 7");

  await assert.rejects(machine.runc("exec", "a b", "$HOME", "*", ""), { exitCode: 7 });

  assert.equal(await machine.seenByRunc(), "exec a b $HOME * : \n");
});

test("runc is called even if no note can be written", async () => {
  await using machine = await aMachine("v1");
  await machine.addContainer(`kubepods/burstable/podx/${id}`, 1);
  await rm(machine.notes, { recursive: true });

  await machine.runc("delete", id);

  assert.equal(await machine.seenByRunc(), `delete ${id}: \n`);
});

test("an id that looks like a path is ignored", async () => {
  await using machine = await aMachine("v1");
  const before = await readdir(machine.dir);

  assert(!(await hasOomNote(machine.notes, "../seen")));
  assert(!(await hasOomNote(machine.notes, "")));
  await removeOomNote(machine.notes, "../runc");

  assert.deepEqual(await readdir(machine.dir), before);
});

/** A cgroup tree and a fake runc, which records its arguments and the notes that it finds. */
async function aMachine(mode: CgroupMode, ending = "exit 0") {
  const dir = await mkdtemp(`${tmpdir()}/orlop-runc-script-`);
  const notes = `${dir}/the cluster's $(false) notes`;
  const mount = `${dir}/the $HOME's cgroups`;
  await mkdir(notes);
  await mkdir(`${dir}/bin`);
  await addProgram(`${dir}/bin/runc`, `#!/bin/sh\necho "$*": "$(ls ${dir}/*notes 2>&-)" >>${dir}/seen\n${ending}\n`);
  await addProgram(`${dir}/runc`, renderRuncScript({ cgroupRoot: "/orlop-x", oomNotes: notes }, mode, mount));
  await writeFile(`${dir}/seen`, "");
  return {
    dir,
    notes,
    addContainer: async (path: string, kills: number) => {
      const group = `${mount}${mode === "v2" ? "" : "/memory"}/orlop-x/${path}`;
      await mkdir(group, { recursive: true });
      const file = mode === "v2" ? "memory.events" : "memory.oom_control";
      await writeFile(`${group}/${file}`, `low 0\noom 3\noom_kill ${kills}\noom_group_kill 1\n`);
    },
    runc: (...args: string[]) => runCommand("env", [`PATH=${dir}/bin:${process.env.PATH}`, `${dir}/runc`, ...args]),
    seenByRunc: () => readFile(`${dir}/seen`, "utf8"),
    [Symbol.asyncDispose]: () => rm(dir, { recursive: true }),
  };
}

async function addProgram(path: string, text: string): Promise<void> {
  await writeFile(path, text);
  await chmod(path, 0o755);
}
