import { required } from "#schema/fields.ts";
import { defineResource, type ObjectTypeOf } from "../resource.ts";
import { ObjectReference } from "./references.ts";

/** Places a pod on a node; posted to pods/binding, never stored. */
export const Binding = defineResource(
  "v1.Binding",
  { target: required(2, ObjectReference, "The node.") },
  {
    verbs: ["create"],
    doc: "Places a pod on a node.",
  },
);
export interface Binding extends ObjectTypeOf<typeof Binding> {}
