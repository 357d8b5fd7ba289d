import { createHash } from "node:crypto";
import type { AnyContainer } from "#api/core/pod/pod-containers.ts";
import type { Pod } from "#api/core/pod.ts";
import type { Labels } from "#kubelet/runtime/runtime.ts";

/** Labels of sandboxes and containers, by which a restarted kubelet knows which pod they belong to. */
export const labels = {
  podName: "io.kubernetes.pod.name",
  podNamespace: "io.kubernetes.pod.namespace",
  podUid: "io.kubernetes.pod.uid",
  containerName: "io.kubernetes.container.name",
  hash: "io.kubernetes.container.hash",
  restartCount: "io.kubernetes.container.restartCount",
  terminationMessagePath: "io.kubernetes.container.terminationMessagePath",
  terminationMessagePolicy: "io.kubernetes.container.terminationMessagePolicy",
  terminationMessageFile: "orlop.dev/termination-message-file",
  image: "orlop.dev/image",
  imageId: "orlop.dev/image-id",
  resources: "orlop.dev/resources",
  gracePeriod: "io.kubernetes.pod.terminationGracePeriod",
  configSource: "kubernetes.io/config.source",
  configSeen: "kubernetes.io/config.seen",
} as const;

const podIdentity = ({ metadata }: Pod): Labels => ({
  [labels.podName]: metadata.name,
  [labels.podNamespace]: metadata.namespace,
  [labels.podUid]: metadata.uid,
});

export const sandboxLabels = (pod: Pod): Labels => ({ ...pod.metadata.labels, ...podIdentity(pod) });
export const sandboxAnnotations = (pod: Pod): Labels => ({
  ...pod.metadata.annotations,
  [labels.gracePeriod]: String(pod.spec.terminationGracePeriodSeconds),
  [labels.configSource]: pod.metadata.annotations?.[labels.configSource] ?? "api",
});

export const containerLabels = (pod: Pod, container: AnyContainer): Labels => ({
  ...podIdentity(pod),
  [labels.containerName]: container.name,
});

export interface ContainerNotes {
  readonly restartCount: number;
  /** The image's name as the status shows it. The runtime may use another name later. */
  readonly image: string;
  readonly imageId: string;
  readonly messageFile: string | undefined;
}
export const containerAnnotations = (
  pod: Pod,
  container: AnyContainer,
  { restartCount, image, imageId, messageFile }: ContainerNotes,
): Labels => ({
  [labels.hash]: containerHash(container),
  [labels.restartCount]: String(restartCount),
  [labels.terminationMessagePath]: container.terminationMessagePath,
  [labels.terminationMessagePolicy]: container.terminationMessagePolicy,
  [labels.gracePeriod]: String(pod.spec.terminationGracePeriodSeconds),
  [labels.image]: image,
  [labels.imageId]: imageId,
  [labels.resources]: JSON.stringify(container.resources),
  ...(messageFile === undefined ? {} : { [labels.terminationMessageFile]: messageFile }),
});

/** Changes when the container must be replaced. */
export function containerHash(container: Pick<AnyContainer, "name" | "image">): string {
  let hash = hashes.get(container);
  if (hash === undefined) {
    const { name, image = "" } = container;
    const text = JSON.stringify([name, image]);
    hash = createHash("sha256").update(text).digest("hex").slice(0, 8);
    hashes.set(container, hash);
  }
  return hash;
}
/** Every turn of a pod asks for those of its containers, which all its versions share until the spec changes. */
const hashes = new WeakMap<object, string>();

/** A pod's name in upstream's messages and log lines: `web_default(6b5c…)`. */
export const podFullName = ({ metadata }: Pod): string => `${metadata.name}_${metadata.namespace}(${metadata.uid})`;
