import { defineResource, type ObjectTypeOf } from "#api/resource.ts";
import { defaulted, int32, object, optional, string } from "#schema/schema.ts";

const WidgetSpec = object("example/v1.WidgetSpec", {
  size: optional(1, int32(), "How big."),
  color: optional(2, string(), "How it looks."),
});
const WidgetStatus = object("example/v1.WidgetStatus", { ready: optional(1, int32(), "How many are ready.") });

/** A kind for tests that are about no kind in particular. */
export const Widget = defineResource({
  group: "example.com",
  version: "v1",
  kind: "Widget",
  plural: "widgets",
  package: "example/v1",
  scope: "Namespaced",
  doc: "A thing.",
  fields: {
    spec: defaulted(2, WidgetSpec, {}, "What it should be."),
    status: optional(3, WidgetStatus, "What it is."),
  },
  subresources: [{ name: "status", verbs: ["get", "patch", "update"] }],
  selectableFields: { "spec.color": (widget) => widget.spec.color },
  indexes: { color: ({ spec }) => (spec.color ? [spec.color] : []) },
});
export interface Widget extends ObjectTypeOf<typeof Widget> {}

/** Another, which the first may own. */
export const Part = defineResource({
  group: "example.com",
  version: "v1",
  kind: "Part",
  plural: "parts",
  package: "example/v1",
  scope: "Namespaced",
  doc: "A part of a thing.",
  fields: {},
});
export interface Part extends ObjectTypeOf<typeof Part> {}
