import { dns1123Subdomain } from "../meta/names.ts";
import { orphanIndex } from "../meta/owner.ts";
import { defineResource, type ObjectOf, type PartialUpdate, type RowCondition } from "../resource.ts";
import { podColumns } from "./pod-columns.ts";
import { podDefaults } from "./pod-defaults.ts";
import { type PodObject, podFields } from "./pod-fields.ts";
import {
  prepareEphemeralUpdate,
  preparePod,
  preparePodStatusUpdate,
  preparePodUpdate,
  prepareResize,
} from "./pod-prepare.ts";
import { isFinished } from "./pod-state.ts";
import { podWarnings } from "./pod-warnings.ts";
import { validatePod, validatePodCreate } from "./validate-pod.ts";
import { validatePodResize } from "./validate-pod-resize.ts";
import { validatePodStatusUpdate } from "./validate-pod-status.ts";
import { validateEphemeralUpdate, validatePodUpdate } from "./validate-pod-update.ts";

export interface Pod extends ObjectOf<typeof podFields> {}

const change = ["get", "patch", "update"];
const stream = ["create", "get"];
const options = (kind: string) => ({ group: "", version: "v1", kind });
const ephemeralUpdate: PartialUpdate<PodObject> = {
  prepare: prepareEphemeralUpdate,
  validate: validateEphemeralUpdate,
};
const resizeUpdate: PartialUpdate<PodObject> = { prepare: prepareResize, validate: validatePodResize };

const ending = (reason: string, message: string): readonly RowCondition[] => [
  { type: "Completed", status: "True", reason, message },
];
/** What a table says of pods that are over, by their phase. */
const endings: Readonly<Record<string, readonly RowCondition[]>> = {
  Succeeded: ending("Succeeded", "The pod has completed successfully."),
  Failed: ending("Failed", "The pod failed."),
};

/** Containers that run together on one node. */
export const Pod = defineResource({
  group: "",
  version: "v1",
  kind: "Pod",
  plural: "pods",
  package: "core/v1",
  shortNames: ["po"],
  categories: ["all"],
  scope: "Namespaced",
  hasGeneration: true,
  returnsDeleted: true,
  doc: "Containers that run together on one node, with their network address and volumes.",
  fields: podFields,
  subresources: [
    { name: "attach", verbs: stream, body: options("PodAttachOptions") },
    { name: "binding", verbs: ["create"], body: options("Binding") },
    { name: "ephemeralcontainers", verbs: change, update: ephemeralUpdate },
    { name: "eviction", verbs: ["create"], body: { group: "policy", version: "v1", kind: "Eviction" } },
    { name: "exec", verbs: stream, body: options("PodExecOptions") },
    { name: "log", verbs: ["get"] },
    { name: "portforward", verbs: stream, body: options("PodPortForwardOptions") },
    { name: "proxy", verbs: ["create", "delete", "get", "patch", "update"], body: options("PodProxyOptions") },
    { name: "resize", verbs: change, update: resizeUpdate },
    { name: "status", verbs: change },
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
  indexes: { node: ({ spec }) => (spec.nodeName ? [spec.nodeName] : []), orphan: orphanIndex },
  nameRule: dns1123Subdomain,

  defaults: podDefaults,
  prepareForCreate: preparePod,
  prepareForUpdate: preparePodUpdate,
  prepareForStatusUpdate: preparePodStatusUpdate,
  validate: validatePod,
  validateCreate: validatePodCreate,
  validateUpdate: validatePodUpdate,
  validateStatusUpdate: validatePodStatusUpdate,
  warnings: podWarnings,

  /** A pod that never reached a node, or whose containers are done, has nothing left to end. */
  gracePeriodSeconds({ spec, status }, asked) {
    if (!spec.nodeName || isFinished({ status })) return 0;
    const seconds = asked ?? spec.terminationGracePeriodSeconds;
    return seconds < 0 ? 1 : seconds;
  },
});
