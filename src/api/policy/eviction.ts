import { DeleteOptions } from "#api/meta/delete-options.ts";
import { nullable } from "#schema/fields.ts";
import { defineResource, type ObjectOf } from "../resource.ts";

const fields = { deleteOptions: nullable(2, DeleteOptions, "How to delete the pod.") };
export interface Eviction extends ObjectOf<typeof fields> {}

/** The body of a pod's `eviction` subresource. It is never stored. */
export const Eviction = defineResource("policy/v1.Eviction", fields, {
  verbs: [],
  doc: "Asks for the deletion of a pod, if its disruption budgets allow it.",
});
