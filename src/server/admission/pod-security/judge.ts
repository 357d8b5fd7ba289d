import { type PodSpec } from "#api/core/pod/pod-spec.ts";
import { Pod } from "#api/core/pod.ts";
import { type ObjectMeta } from "#api/meta/object-meta.ts";
import { atOnce, inSlices, type Steps } from "#lib/async/turns.ts";
import { isAbout } from "../object-of.ts";
import { type AdmissionRequest } from "../plugin.ts";
import { refusal } from "../refuse.ts";
import { type CheckedPod, checkedPod, type Violation } from "./checks/check.ts";
import { describe, violationsOf } from "./evaluate.ts";
import { formatLevel, type LevelVersion, labelPrefix, type ReadPolicy } from "./levels.ts";

export interface Judged {
  readonly metadata: Pick<ObjectMeta, "annotations">;
  readonly spec: PodSpec;
  readonly asked: ReadPolicy;
}

/** Checking more containers takes long enough for others to notice. */
const manyContainers = 500;

/** Refuses a pod that violates its policy, and reports and warns of pods and templates. */
export function judge(request: AdmissionRequest, { metadata, spec, asked }: Judged): void | Promise<void> {
  const pod = checkedPod(metadata, spec);
  const steps = judgeInSteps(request, pod, asked);
  return pod.containers.length > manyContainers ? inSlices(steps) : atOnce(steps);
}

function* judgeInSteps(request: AdmissionRequest, pod: CheckedPod, { policy, faults }: ReadPolicy): Steps<void> {
  const { enforce, audit, warn } = policy;
  const known = new Map<string, Violation[]>();
  const find = function* (level: LevelVersion): Steps<Violation[]> {
    const key = formatLevel(level);
    const found = known.get(key) ?? (yield* violationsOf(pod, level));
    known.set(key, found);
    return found;
  };
  const annotate = (name: string, text: string): void => request.annotate(labelPrefix + name, text);

  if (faults.length > 0) annotate("error", `Failed to parse policy: ${aggregate(faults)}`);
  const isPod = isAbout(Pod, request);
  if (isPod) annotate("enforce-policy", formatLevel(enforce));
  const refused = isPod ? yield* find(enforce) : [];
  const reported = yield* find(audit);
  if (reported.length > 0) annotate("audit-violations", describe("would violate", audit, reported));
  if (refused.length > 0) throw refusal(request, describe("violates", enforce, refused));
  const warned = yield* find(warn);
  if (warned.length > 0) request.warn(describe("would violate", warn, warned));
}

/** Several faults in one line, as upstream writes them. */
function aggregate(faults: ReadPolicy["faults"]): string {
  const lines = faults.map(({ path, message }) => `${path}: ${message}`);
  return lines.length === 1 ? (lines[0] ?? "") : `[${lines.join(", ")}]`;
}
