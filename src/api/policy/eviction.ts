import { DeleteOptions } from "#api/meta/delete-options.ts";
import { nullable } from "#schema/fields.ts";
import { defineResource, type ObjectOf } from "../resource.ts";

const fields = {
  deleteOptions: nullable(2, DeleteOptions, "How the pod is to be deleted."),
};
export interface Eviction extends ObjectOf<typeof fields> {}

/** What is posted to a pod's `eviction` subresource; never stored. */
export const Eviction = defineResource("policy/v1.Eviction", fields, {
  verbs: [],
  doc: "Asks for a pod to be deleted, as far as its disruption budgets allow.",
});
