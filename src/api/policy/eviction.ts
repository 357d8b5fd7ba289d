import { nullable } from "#schema/schema.ts";
import { DeleteOptions } from "../meta/delete-options.ts";
import { dns1123Subdomain } from "../meta/names.ts";
import { defineResource, type ObjectOf } from "../resource.ts";

const fields = {
  deleteOptions: nullable(2, DeleteOptions, "How the pod is to be deleted."),
};
export interface Eviction extends ObjectOf<typeof fields> {}

/** What is posted to a pod's `eviction` subresource; never stored. */
export const Eviction = defineResource({
  group: "policy",
  version: "v1",
  kind: "Eviction",
  plural: "evictions",
  package: "policy/v1",
  scope: "Namespaced",
  verbs: [],
  doc: "Asks for a pod to be deleted, as far as its disruption budgets allow.",
  fields,
  nameRule: dns1123Subdomain,
});
