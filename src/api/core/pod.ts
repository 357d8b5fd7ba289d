import { defaulted, required } from "#schema/schema.ts";
import { defineResource, type ObjectTypeOf } from "../resource.ts";
import { PodSpec } from "./pod-spec.ts";
import { PodStatus } from "./pod-status.ts";

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
  doc: "Containers that run together on one node, with their network address and volumes.",
  fields: {
    spec: required(2, PodSpec, "What the pod should be."),
    status: defaulted(3, PodStatus, {}, "What the pod is."),
  },
  indexes: { node: (pod) => (pod.spec.nodeName ? [pod.spec.nodeName] : []) },
});
export interface Pod extends ObjectTypeOf<typeof Pod> {}
