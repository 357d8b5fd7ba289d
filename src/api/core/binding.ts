import { required } from "#schema/fields.ts";
import { defineResource, type ObjectTypeOf } from "../resource.ts";
import { ObjectReference } from "./references.ts";

const fields = { target: required(2, ObjectReference, "The node that the pod is placed on.") };

/** The body of a pod's `binding` subresource. It is never stored. */
export const Binding = defineResource("v1.Binding", fields, { verbs: ["create"], doc: "Places a pod on a node." });
export interface Binding extends ObjectTypeOf<typeof Binding> {}
