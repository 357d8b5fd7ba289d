import type { PullPolicy } from "#api/core/container/image-name.ts";
import type { AnyContainer } from "#api/core/pod/pod-containers.ts";
import type { Pod } from "#api/core/pod.ts";
import type { Secret } from "#api/core/secret.ts";
import type { ImageOutcome } from "#kubelet/images/puller.ts";
import { containerEvent, type EventType, type PodDeps, podEvent } from "../pod-deps.ts";

/** Makes sure that the image is on the node; the outcome says why it is not. */
export async function ensureImage(
  deps: PodDeps,
  pod: Pod,
  container: AnyContainer,
  signal: AbortSignal,
): Promise<ImageOutcome> {
  const { image = "", imagePullPolicy: policy = "IfNotPresent", name } = container;
  const recordEvent: RecordEvent = (type, reason, message) =>
    containerEvent(deps, pod, name, { type, reason, message });
  const outcome = await obtainImage(deps, pod, { image, policy, recordEvent }, signal);
  if (!outcome.ok) recordEvent("Warning", "Failed", `Error: ${outcome.reason}`);
  return outcome;
}

type RecordEvent = (type: EventType, reason: string, message: string) => void;

export interface WantedImage {
  readonly image: string;
  readonly policy: PullPolicy;
  /** Called with the events to record. */
  readonly recordEvent: RecordEvent;
}

export async function obtainImage(
  deps: PodDeps,
  pod: Pod,
  { image, policy, recordEvent }: WantedImage,
  signal: AbortSignal,
): Promise<ImageOutcome> {
  const podUid = pod.metadata.uid;
  const outcome = await deps.puller.ensure(
    {
      image,
      policy,
      podUid,
      secrets: await pullSecrets(deps, pod),
      onPulling: () => recordEvent("Normal", "Pulling", `Pulling image "${image}"`),
    },
    signal,
  );
  if (outcome.ok) recordEvent("Normal", "Pulled", outcome.message);
  else {
    const { reason, message } = outcome;
    if (reason === "ImagePullBackOff") recordEvent("Normal", "BackOff", message);
    else if (reason === "ErrImageNeverPull") recordEvent("Warning", "ErrImageNeverPull", message);
    else if (reason === "ErrImagePull" || reason === "RegistryUnavailable") {
      recordEvent("Warning", "Failed", `Failed to pull image "${image}": ${message}`);
    } else recordEvent("Warning", "InspectFailed", message);
  }
  return outcome;
}

async function pullSecrets(deps: PodDeps, pod: Pod): Promise<Secret[]> {
  const names = [...new Set((pod.spec.imagePullSecrets ?? []).flatMap(({ name }) => (name ? [name] : [])))];
  const { namespace, uid } = pod.metadata;
  const found = await Promise.all(names.map((name) => deps.objects.secret(namespace, name, uid)));
  const missing = names.filter((_, at) => found[at] === undefined);
  if (missing.length > 0) {
    const message = `Unable to retrieve some image pull secrets (${missing.join(", ")}); attempting to pull the image may not succeed.`;
    podEvent(deps, pod, "Warning", "FailedToRetrieveImagePullSecret", message);
  }
  return found.filter((secret) => secret !== undefined);
}

export type ImageFault = Extract<ImageOutcome, { ok: false }>;

/** Soon after a failure, the status says that the kubelet is backing off, and for how long. */
export const imageRetryMs = ({ reason, retryAfterMs }: ImageFault): number =>
  reason === "ErrImagePull" || reason === "RegistryUnavailable" ? Math.min(1000, retryAfterMs) : retryAfterMs;
