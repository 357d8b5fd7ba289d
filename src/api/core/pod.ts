import { orphanIndex } from "#api/meta/owner.ts";
import {
  change,
  defineResource,
  type NamespacedObject,
  type PartialUpdate,
  proxied,
  type RowCondition,
  type Subresource,
} from "../resource.ts";
import { podColumns } from "./pod/pod-columns.ts";
import { podDefaults } from "./pod/pod-defaults.ts";
import { type PodObject, podFields } from "./pod/pod-fields.ts";
import {
  initialPodStatus,
  prepareEphemeralUpdate,
  preparePod,
  preparePodStatusUpdate,
  preparePodUpdate,
  prepareResize,
} from "./pod/pod-prepare.ts";
import { claimNamesOf, resourceClaimKeysOf, resourceClaimTemplateKeysOf } from "./pod/pod-references.ts";
import { isFinished } from "./pod/pod-state.ts";
import { podWarnings } from "./pod/pod-warnings.ts";
import { podLook } from "./pod/validate/pod-look.ts";
import { validatePod, validatePodCreate } from "./pod/validate/validate-pod.ts";
import { validatePodResize } from "./pod/validate/validate-pod-resize.ts";
import { validatePodStatusUpdate } from "./pod/validate/validate-pod-status.ts";
import { validateEphemeralUpdate, validatePodUpdate } from "./pod/validate/validate-pod-update.ts";

export interface Pod extends NamespacedObject<typeof podFields> {}

const options = (kind: string) => ({ group: "", version: "v1", kind });
const streamed = (name: string, kind: string): Subresource => ({
  name,
  verbs: ["create", "get"],
  connects: true,
  body: options(kind),
});
const container = { "*": { resources: true, resizePolicy: true } } as const;

const ending = (reason: string, message: string): readonly RowCondition[] => [
  { type: "Completed", status: "True", reason, message },
];
/** Row conditions of finished pods, by phase. */
const endings: Readonly<Record<string, readonly RowCondition[]>> = {
  Succeeded: ending("Succeeded", "The pod has completed successfully."),
  Failed: ending("Failed", "The pod failed."),
};

export const Pod = defineResource("v1.Pod", podFields, {
  shortNames: ["po"],
  categories: ["all"],
  hasGeneration: true,
  returnsDeleted: true,
  doc: "Containers that run together on one node, with their network address and volumes.",
  withStatus: initialPodStatus,
  statusResets: { spec: true, metadata: { deletionTimestamp: true, ownerReferences: true } },
  subresources: [
    streamed("attach", "PodAttachOptions"),
    { name: "binding", verbs: ["create"], body: options("Binding") },
    {
      name: "ephemeralcontainers",
      verbs: change,
      only: { spec: { ephemeralContainers: true } },
      update: { prepare: prepareEphemeralUpdate, validate: validateEphemeralUpdate } as PartialUpdate<PodObject>,
    },
    { name: "eviction", verbs: ["create"], body: { group: "policy", version: "v1", kind: "Eviction" } },
    streamed("exec", "PodExecOptions"),
    { name: "log", verbs: ["get"], connects: true },
    streamed("portforward", "PodPortForwardOptions"),
    proxied("PodProxyOptions"),
    {
      name: "resize",
      verbs: change,
      only: { spec: { containers: container, initContainers: container } },
      update: { prepare: prepareResize, validate: validatePodResize } as PartialUpdate<PodObject>,
    },
  ],
  columns: podColumns,
  rowConditions: ({ status }) => endings[status.phase ?? ""],
  selectableFields: {
    "spec.nodeName": ({ spec }) => spec.nodeName,
    "spec.restartPolicy": ({ spec }) => spec.restartPolicy,
    "spec.schedulerName": ({ spec }) => spec.schedulerName,
    "spec.serviceAccountName": ({ spec }) => spec.serviceAccountName,
    "spec.hostNetwork": ({ spec }) => String(spec.hostNetwork ?? false),
    "status.phase": ({ status }) => status.phase,
    "status.podIP": ({ status }) => status.podIPs?.[0]?.ip,
    "status.podIPs": ({ status }) => status.podIPs?.[0]?.ip,
    "status.nominatedNodeName": ({ status }) => status.nominatedNodeName,
  },
  indexes: {
    node: ({ spec }) => (spec.nodeName ? [spec.nodeName] : []),
    orphan: orphanIndex,
    claim: (pod) => claimNamesOf(pod).map((name) => `${pod.metadata.namespace}/${name}`),
    resourceClaim: (pod) => resourceClaimKeysOf(pod),
    resourceClaimTemplate: (pod) => resourceClaimTemplateKeysOf(pod),
  },

  defaults: podDefaults,
  prepareForCreate: preparePod,
  prepareForUpdate: preparePodUpdate,
  prepareForStatusUpdate: preparePodStatusUpdate,
  rulesLookAt: podLook,
  validate: validatePod,
  validateCreate: validatePodCreate,
  validateUpdate: validatePodUpdate,
  validateStatusUpdate: validatePodStatusUpdate,
  warnings: podWarnings,

  /** A pod that never reached a node, or whose containers are done, has nothing to shut down. */
  gracePeriodSeconds({ spec, status }, asked) {
    if (!spec.nodeName || isFinished({ status })) return 0;
    const seconds = asked ?? spec.terminationGracePeriodSeconds;
    return seconds < 0 ? 1 : seconds;
  },
});
