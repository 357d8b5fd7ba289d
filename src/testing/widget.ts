import { defineResource, type ObjectTypeOf } from "#api/resource.ts";
import { defaulted, optional } from "#schema/fields.ts";
import { object } from "#schema/schema.ts";
import { int32, string } from "#schema/types.ts";

const WidgetSpec = object("example/v1.WidgetSpec", "", {
  size: optional(1, int32(), "How big."),
  color: optional(2, string(), "How it looks."),
});
const WidgetStatus = object("example/v1.WidgetStatus", "", { ready: optional(1, int32(), "How many are ready.") });

/** A kind for tests that do not depend on a particular kind. */
export const Widget = defineResource(
  "example.com/v1.Widget",
  {
    spec: defaulted(2, WidgetSpec, {}, "What it should be."),
    status: optional(3, WidgetStatus, "What it is."),
  },
  {
    doc: "A thing.",
    subresources: [{ name: "status", verbs: ["get", "patch", "update"] }],
    selectableFields: { "spec.color": (widget) => widget.spec.color },
    indexes: { color: ({ spec }) => (spec.color ? [spec.color] : []) },
  },
);
export interface Widget extends ObjectTypeOf<typeof Widget> {}

/** Another kind, which the first may own. */
export const Part = defineResource(
  "example.com/v1.Part",
  {},
  {
    doc: "A part of a thing.",
  },
);
export interface Part extends ObjectTypeOf<typeof Part> {}
