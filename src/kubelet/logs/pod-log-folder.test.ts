import assert from "node:assert/strict";
import { test } from "node:test";
import { podLogFolder } from "./pod-log-folder.ts";

test("podLogFolder() is upstream's name if that fits the file system, and shorter otherwise", () => {
  const uid = "6f1c0de8-7a43-4a3b-9a2e-0d9c9f6c3f11";
  const longest = podLogFolder({ namespace: "n".repeat(63), name: "p".repeat(253), uid });

  assert.equal(podLogFolder({ namespace: "default", name: "web", uid }), `default_web_${uid}`);
  assert.equal(longest.length, 255);
  assert(longest.endsWith(`p_${uid}`));
});
