import { type ObjectOf } from "#api/resource.ts";
import { embedded } from "#schema/fields.ts";
import { PodSpec } from "./pod-spec.ts";
import { PodStatus } from "./pod-status.ts";

export const podFields = { spec: embedded(2, PodSpec), status: embedded(3, PodStatus) };
/** A pod as its own rules see it: they are part of the Resource, and so cannot be typed by it. */
export interface PodObject extends ObjectOf<typeof podFields> {}
