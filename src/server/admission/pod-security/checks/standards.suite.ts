import assert from "node:assert/strict";
import { test } from "node:test";
import { aPod } from "#api/core/pod/testing-pod.ts";
import { atOnce } from "#lib/async/turns.ts";
import { violationsOf } from "../evaluate.ts";
import { type Level } from "../levels.ts";
import { checkedPod } from "./check.ts";

type Fields = Readonly<Record<string, unknown>>;

/** One setting of a field that a standard names. */
export interface StandardCase {
  readonly field: string;
  readonly metadata?: Fields;
  readonly spec?: Fields;
  /** Tried in an ordinary, an init and an ephemeral container. `NAME` in the text is the container's. */
  readonly container?: Fields;
  /** `reason (detail)`; absent if the setting is allowed. */
  readonly violation?: string;
  /** The minor versions in which it is a violation; all by default. */
  readonly since?: number;
  readonly until?: number;
}

const newest = 36;

/** Each case violates this level in the versions that it says, and nothing else; the level below allows it. */
export function testStandard(level: Level, cases: readonly StandardCase[]): void {
  for (const { field, violation, since = 0, until = Infinity, ...parts } of cases) {
    const value = JSON.stringify(parts.container ?? parts.spec ?? parts.metadata);
    test(`${level} ${violation ? "refuses" : "allows"} ${field}: ${value}`, () => {
      for (const [name, pod] of podsWith(parts)) {
        for (const minor of minors(since, until)) {
          const isRefused = violation && (minor ?? newest) >= since && (minor ?? newest) < until;
          const version = minor === undefined ? "latest" : `v1.${minor}`;
          const expected = isRefused ? [violation.replaceAll("NAME", name)] : [];
          assert.deepEqual(violations(pod, level, version), expected, `${level}:${version}, container ${name}`);
        }
      }
    });
  }
}

/** The versions around each change; undefined is `latest`. One from the future counts as the latest. */
const minors = (since: number, until: number): (number | undefined)[] => [
  ...[0, since - 1, since, until - 1, until, newest, newest + 50].filter((n) => n >= 0 && n < Infinity),
  undefined,
];

/** What a level says about a pod, in one line per violation. */
export const violations = (pod: ReturnType<typeof aPod>, level: Level, version = "latest"): string[] =>
  atOnce(violationsOf(checkedPod(pod.metadata, pod.spec), { level, version })).map(
    ({ reason, detail }) => `${reason} (${detail})`,
  );

/** Passes the restricted level in every version. */
const soundContainer = { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } };
const soundPod = { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } };

const containerWith = (name: string, { securityContext = {}, ...rest }: Fields = {}): Fields => ({
  name,
  image: "a:1",
  ...rest,
  ...(securityContext === null ? {} : { securityContext: { ...soundContainer, ...(securityContext as Fields) } }),
});

/** A restricted pod with the given settings in place of its own. */
export function soundPodWith(spec: Fields = {}, metadata: Fields = {}): ReturnType<typeof aPod> {
  const { securityContext = {}, ...rest } = spec;
  const security = { ...soundPod, ...(securityContext as Fields) };
  return aPod({ containers: [containerWith("a")], ...rest, securityContext: security }, {}, metadata);
}

function podsWith({ metadata, spec, container }: Pick<StandardCase, "metadata" | "spec" | "container">) {
  const lists = container
    ? (["containers", "initContainers", "ephemeralContainers"] as const)
    : (["containers"] as const);
  return lists.map((list) => {
    const name = list === "containers" ? "a" : list === "initContainers" ? "i" : "e";
    // The other container does not depend on what the pod says.
    const changed = {
      containers: [containerWith("a", { securityContext: soundPod })],
      [list]: [containerWith(name, container)],
    };
    return [name, soundPodWith({ ...spec, ...changed }, metadata)] as const;
  });
}
