import { setTimeout as sleep } from "node:timers/promises";
import { type AttackTarget } from "../attacks/attack.ts";

/** Operations for attacks that need pods. */

const image = "orlop.dev/busybox:1";

/** A container that runs a script, with optional further fields. */
export const shell = (script: string, more: object = {}) => ({
  name: "main",
  image,
  command: ["sh", "-c", script],
  ...more,
});

/** The fields of a pod that attacks read. */
interface PodSeen {
  readonly metadata: { readonly uid: string };
  readonly status: {
    readonly phase?: string;
    readonly message?: string;
    readonly containerStatuses?: readonly { readonly state: { readonly running?: object } }[];
  };
}

export async function createObject(target: AttackTarget, kind: "Pod" | "Secret" | "ConfigMap", object: object) {
  const path = `/api/v1/namespaces/${target.namespace}/${kind.toLowerCase()}s`;
  const answer = await target.ask({ path, body: { apiVersion: "v1", kind, ...object } });
  if (answer.status !== 201) throw new Error(`${kind} not created: ${answer.status} ${answer.text.slice(0, 200)}`);
}

export const createPod = (target: AttackTarget, name: string, spec: object): Promise<void> =>
  createObject(target, "Pod", { metadata: { name }, spec: { terminationGracePeriodSeconds: 1, ...spec } });

export const deletePod = async (target: AttackTarget, name: string): Promise<void> =>
  void (await target.ask({ method: "DELETE", path: `/api/v1/namespaces/${target.namespace}/pods/${name}` }));

/** Resolves with the pod when the condition holds; undefined if it is gone, or if the signal fires first. */
export async function podWhen(
  target: AttackTarget,
  name: string,
  { is, signal }: { is(pod: PodSeen): boolean; readonly signal: AbortSignal },
): Promise<PodSeen | undefined> {
  while (!signal.aborted) {
    const answer = await target.ask({ path: `/api/v1/namespaces/${target.namespace}/pods/${name}` });
    if (answer.status === 404) return undefined;
    const pod = JSON.parse(answer.text) as PodSeen;
    if (answer.status === 200 && is(pod)) return pod;
    await sleep(200);
  }
  return undefined;
}

export const isRunning = ({ status }: PodSeen): boolean =>
  status.containerStatuses?.some(({ state }) => state.running !== undefined) ?? false;

/** The number of pods with an event whose message contains these words. */
export async function countEvents(target: AttackTarget, words: string): Promise<number> {
  const { text } = await target.ask({ path: `/api/v1/namespaces/${target.namespace}/events?limit=500` });
  const { items } = JSON.parse(text) as { items: readonly { message?: string; involvedObject: { name: string } }[] };
  const told = items.filter(({ message = "" }) => message.includes(words));
  return new Set(told.map(({ involvedObject }) => involvedObject.name)).size;
}
