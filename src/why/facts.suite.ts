import { Pod } from "#api/core/pod.ts";
import { type InputOf } from "#api/resource.ts";
import { timestamp } from "#lib/async/clock.ts";
import { build } from "#testing/build.ts";
import { type SeenEvent } from "./facts.ts";

/** The time at which the tests ask. */
export const nowMs = Date.parse("2026-01-01T00:10:00Z");
export const ago = (seconds: number): string => timestamp(nowMs - seconds * 1000);

export const podOf = (
  spec: InputOf<Pod["spec"]>,
  status: InputOf<Pod["status"]>,
  metadata: InputOf<Pod["metadata"]> = {},
): Pod =>
  build(Pod, {
    metadata: { namespace: "default", name: "web", creationTimestamp: ago(60), labels: { app: "web" }, ...metadata },
    spec: { containers: [{ name: "c", image: "registry.test/web:1" }], ...spec },
    status,
  });

export const event = (reason: string, message: string, parts: Partial<SeenEvent> = {}): SeenEvent => ({
  type: "Warning",
  reason,
  message,
  count: 1,
  lastMs: nowMs - 5000,
  fieldPath: "",
  ...parts,
});
