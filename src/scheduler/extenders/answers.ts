import { type Pod } from "#api/core/pod.ts";
import { isObject } from "#lib/data/json-object.ts";
import { type Rejection, reject, rejectFinally } from "../framework.ts";
import { type Nominated, priorityOf } from "../preemption/nominations.ts";
import { type Candidate } from "../preemption/rank.ts";
import { type NodeInfo } from "../snapshot.ts";

/** What extenders answer, checked. An extender can only choose among what it was asked about. */

export interface Filtered {
  /** The nodes that fit, in the order of the question. */
  readonly fits: readonly string[];
  readonly failed: ReadonlyMap<string, Rejection>;
}

/** An extender said something that makes no sense. */
export class AnswerError extends Error {
  override readonly name = "AnswerError";
}

const maxReason = 256;
const notChosen = reject("node(s) were rejected by an extender");

export function parseFilter(answer: unknown, asked: readonly string[]): Filtered {
  refuseIfError(answer);
  const chosen = new Set(namesIn(answer));
  const known = new Set(asked);
  for (const name of chosen) {
    if (!known.has(name)) {
      throw new AnswerError(`claims a filtered node ${shown(name)} which is not found in the input node list`);
    }
  }
  const failures = mapOf(fieldOf(answer, "failednodes"));
  const finalFailures = mapOf(fieldOf(answer, "failedandunresolvablenodes"));
  const failed = new Map<string, Rejection>();
  for (const name of asked) {
    const final = finalFailures.get(name);
    const reason = failures.get(name);
    if (typeof final === "string") failed.set(name, rejectFinally(final.slice(0, maxReason)));
    else if (typeof reason === "string") failed.set(name, reject(reason.slice(0, maxReason)));
    else if (!chosen.has(name)) failed.set(name, notChosen);
  }
  return { fits: asked.filter((name) => chosen.has(name) && !failed.has(name)), failed };
}

/** Of names, or of whole nodes. */
function namesIn(answer: unknown): string[] {
  const names = fieldOf(answer, "nodenames");
  if (Array.isArray(names)) return names.filter((name) => typeof name === "string");
  const items = fieldOf(fieldOf(answer, "nodes"), "items");
  if (!Array.isArray(items)) return [];
  return items.flatMap((item) => {
    const name = fieldOf(fieldOf(item, "metadata"), "name");
    return typeof name === "string" ? [name] : [];
  });
}

/** Upstream's scores go up to 10, ours to 100. */
const maxExtenderScore = 10;
const scale = 10;

export function parseScores(answer: unknown, asked: ReadonlySet<string>, weight: number): ReadonlyMap<string, number> {
  if (!Array.isArray(answer)) throw new AnswerError("the scores are not a list");
  const scores = new Map<string, number>();
  for (const item of answer) {
    const [host, score] = [fieldOf(item, "host"), fieldOf(item, "score")];
    if (typeof host !== "string" || !asked.has(host) || typeof score !== "number") continue;
    scores.set(host, Math.min(Math.max(Math.trunc(score), 0), maxExtenderScore) * scale * weight);
  }
  return scores;
}

/** Victims must be less important pods on the node: an extender gains no power over others. */
export function parsePreemption(
  answer: unknown,
  preemptor: Pod,
  nodeOf: (name: string) => NodeInfo | undefined,
): readonly Candidate[] {
  const nodes = mapOf(fieldOf(answer, "nodenametometavictims"));
  return Array.from(nodes, ([node, said]) => {
    const info = nodeOf(node);
    if (!info) throw new AnswerError(`names a node ${shown(node)} that does not exist`);
    const listed = fieldOf(said, "pods");
    const uids = new Set(Array.isArray(listed) ? listed.map((pod) => fieldOf(pod, "uid")) : []);
    const victims = Array.from(info.pods, ([key, pod]) => ({ key, pod })).filter(({ pod }) =>
      uids.has(pod.metadata.uid),
    );
    checkVictims(victims, uids, preemptor, node);
    const broken = fieldOf(said, "numpdbviolations");
    return { node, victims, broken: typeof broken === "number" && broken > 0 ? Math.trunc(broken) : 0 };
  });
}

function checkVictims(victims: readonly Nominated[], uids: ReadonlySet<unknown>, preemptor: Pod, node: string): void {
  if (victims.length !== uids.size || victims.length === 0) {
    throw new AnswerError(`claims to preempt a pod on node ${shown(node)}, but the pod is not found on that node`);
  }
  if (victims.some(({ pod }) => priorityOf(pod) >= priorityOf(preemptor))) {
    throw new AnswerError(`claims to preempt a pod on node ${shown(node)} that is not less important`);
  }
}

export const checkBinding = (answer: unknown): void => refuseIfError(answer);

function refuseIfError(answer: unknown): void {
  const error = fieldOf(answer, "error");
  if (typeof error === "string" && error !== "") throw new AnswerError(error.slice(0, maxReason));
}

/** Names of fields differ in their case only, as in Go. */
function fieldOf(value: unknown, wanted: string): unknown {
  if (value === undefined || value === null) return undefined;
  const fields = objectOf(value);
  const name = Object.keys(fields).findLast((each) => each.length === wanted.length && each.toLowerCase() === wanted);
  return name === undefined ? undefined : fields[name];
}

function mapOf(value: unknown): ReadonlyMap<string, unknown> {
  if (value === undefined || value === null) return new Map();
  return new Map(Object.entries(objectOf(value)));
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  if (!isObject(value)) throw new AnswerError("an object was expected");
  return value;
}

const shown = (text: string): string => JSON.stringify(text.slice(0, maxReason));
