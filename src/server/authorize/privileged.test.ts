import assert from "node:assert/strict";
import { test } from "node:test";
import { blankRequestInfo } from "#server/request/request-info.ts";
import { privileged } from "./privileged.ts";

const verdict = async (name: string, ...groups: string[]) =>
  (await privileged.authorize({ name, groups }, { ...blankRequestInfo, verb: "delete" })).verdict;

test("privileged allows members of system:masters, whatever their other groups", async () => {
  assert.equal(await verdict("jane", "dev", "system:masters"), "allow");
});

test("privileged has no opinion on anybody else", async () => {
  assert.equal(await verdict("system:masters", "system:master", "system:masters:dev"), "no opinion");
  assert.equal(await verdict("jane"), "no opinion");
});
