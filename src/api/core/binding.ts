import { required } from "#schema/schema.ts";
import { defineResource, type ObjectTypeOf } from "../resource.ts";
import { ObjectReference } from "./references.ts";

/** Places a pod on a node; posted to pods/binding, never stored. */
export const Binding = defineResource({
  group: "",
  version: "v1",
  kind: "Binding",
  plural: "bindings",
  package: "core/v1",
  scope: "Namespaced",
  verbs: ["create"],
  doc: "Places a pod on a node.",
  fields: { target: required(2, ObjectReference, "The node.") },
});
export interface Binding extends ObjectTypeOf<typeof Binding> {}
