import { column } from "#api/meta/columns.ts";
import { LabelSelector, validateLabelSelector } from "#api/meta/label-selector.ts";
import { dns1035Label, dns1123Subdomain, pathSegmentName } from "#api/meta/names.ts";
import { nullable, optional } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { listedOneOf, string, unlisted } from "#schema/types.ts";
import { type Cursor } from "../cursor.ts";

const object = inPackage("admissionregistration/v1");

export const ParamKind = object.atomic("ParamKind", "The kind of the objects that hold the parameters of a policy.", {
  apiVersion: optional(1, string(), "API version of the parameters, such as v1 or example.com/v1."),
  kind: optional(2, string(), "Kind of the parameters."),
});
export interface ParamKind extends Infer<typeof ParamKind> {}

export const ParamRef = object.atomic("ParamRef", "The objects that hold the parameters of a policy.", {
  name: optional(1, string(), "Name of the object with the parameters. Excludes selector."),
  namespace: optional(2, string(), "Namespace of the parameters; that of the request if empty."),
  selector: nullable(3, LabelSelector, "Selects the objects with the parameters. Excludes name."),
  parameterNotFoundAction: nullable(
    4,
    unlisted(listedOneOf("Deny", "Allow")),
    "What happens to a request if no parameters are found: Allow or Deny.",
  ),
});
export interface ParamRef extends Infer<typeof ParamRef> {}

export function validateParamKind(at: Cursor<ParamKind>): void {
  if (at.field("apiVersion").required()) validateApiVersion(at.field("apiVersion"));
  const kind = at.field("kind");
  if (!kind.required()) return;
  const faults = dns1035Label.all(String(kind.value).toLowerCase());
  if (faults.length > 0) kind.invalid(`may have mixed case, but should otherwise match: ${faults.join(",")}`);
}

function validateApiVersion(at: Cursor<string | undefined>): void {
  const { value = "" } = at;
  const [first = "", second, ...rest] = value.split("/", 3);
  if (rest.length > 0) return at.invalid(`unexpected GroupVersion string: ${value}`);
  const [group, version] = second === undefined ? ["", first] : [first, second];
  const groupFaults = group ? dns1123Subdomain.all(group) : [];
  if (groupFaults.length > 0) at.invalid(groupFaults.join(","), group);
  if (!version) return at.invalid("version must be specified");
  const versionFaults = dns1035Label.all(version);
  if (versionFaults.length > 0) at.invalid(versionFaults.join(","), version);
}

const exclusive = "name and selector are mutually exclusive";

export function validateParamRef(at: Cursor<ParamRef>): void {
  const { name, selector } = at.value;
  if (name) {
    at.field("name").rule(pathSegmentName);
    if (selector) at.field("name").forbidden(exclusive);
  }
  at.on("selector", (at) => {
    validateLabelSelector(at);
    if (name) at.forbidden(exclusive);
  });
  if (!name && !selector) at.missing("one of name or selector must be specified");
  at.field("parameterNotFoundAction").required();
}

export const paramKindColumn = column<{ spec: { paramKind?: ParamKind } }>(
  "ParamKind",
  "Kind of the parameters of the policy.",
  ({ spec: { paramKind } }) => (paramKind ? `${paramKind.apiVersion ?? ""}/${paramKind.kind ?? ""}` : "<unset>"),
);

export const paramRefColumn = column<{ spec: { paramRef?: ParamRef } }>(
  "ParamRef",
  "Object with the parameters of the policy.",
  ({ spec: { paramRef } }) => {
    if (paramRef?.name) return `${paramRef.namespace ?? "*"}/${paramRef.name}`;
    return paramRef?.selector ? formatSelector(paramRef.selector) : "<unset>";
  },
);

/** The selector in Go's notation, which is what upstream prints. */
function formatSelector({ matchLabels = {}, matchExpressions = [] }: LabelSelector): string {
  const labels = Object.keys(matchLabels).sort();
  const shownLabels = labels.map((key) => `${key}: ${matchLabels[key]},`).join("");
  const shownExpressions = matchExpressions
    .map(({ key, operator, values = [] }) => {
      return `LabelSelectorRequirement{Key:${key},Operator:${operator},Values:[${values.join(" ")}],},`;
    })
    .join("");
  const parts = `MatchLabels:map[string]string{${shownLabels}},MatchExpressions:[]LabelSelectorRequirement{${shownExpressions}},`;
  return `&LabelSelector{${parts}}`;
}
