import { ageColumn, column } from "#api/meta/columns.ts";
import { dns1123Label, dns1123Subdomain, pathSegmentName, regexMessage } from "#api/meta/names.ts";
import { defaulted, immutable, inGo, nullable, optional, present } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { string } from "#schema/types.ts";
import { type Cursor } from "../cursor.ts";
import { type ClusterObject, defineResource } from "../resource.ts";
import { defaultIngressClassAnnotation } from "../well-known.ts";

const object = inPackage("networking/v1");

const about = "The object with further settings of an ingress class.";
const IngressClassParametersReference = object("IngressClassParametersReference", about, {
  apiGroup: nullable(1, string(), "API group of the object with the settings; the core group if absent."),
  kind: present(2, string(), "Kind of the object with the settings."),
  name: present(3, string(), "Name of the object with the settings."),
  scope: inGo(
    { isPointer: true },
    defaulted(4, string(), "Cluster", "Scope of the object with the settings: Cluster or Namespace."),
  ),
  namespace: nullable(5, string(), "Namespace of the object with the settings, if scope is Namespace."),
});
interface IngressClassParametersReference extends Infer<typeof IngressClassParametersReference> {}

const fields = {
  spec: object.embedded(2, "IngressClassSpec", "The controller of an ingress class, and its settings.", {
    controller: immutable(optional(1, string(), "Controller of the class, such as acme.io/a. Cannot be changed.")),
    parameters: nullable(2, IngressClassParametersReference, "Object with further settings for the controller."),
  }),
};
export interface IngressClass extends ClusterObject<typeof fields> {}
type IngressClassSpec = IngressClass["spec"];

export const IngressClass = defineResource("networking.k8s.io/v1.IngressClass", fields, {
  doc: "Names the controller that implements ingresses of a class.",
  scope: "Cluster",
  hasGeneration: true,
  columns: [
    { ...column("Name", "Name of the class, and whether it is the default.", nameOf), format: "name" },
    column("Controller", "Controller of the class.", ({ spec }) => spec.controller ?? ""),
    column("Parameters", "Object with further settings.", ({ spec }) => parametersOf(spec)),
    ageColumn,
  ],

  validateCreate: (ingressClass) => validateSpec(ingressClass.field("spec")),
  validateUpdate: (ingressClass) => validateSpec(ingressClass.field("spec")),
});

function nameOf({ metadata: { name = "", annotations } }: { metadata: Partial<IngressClass["metadata"]> }): string {
  return annotations?.[defaultIngressClassAnnotation] === "true" ? `${name} (default)` : name;
}

function parametersOf({ parameters }: IngressClassSpec): string {
  if (!parameters) return "<none>";
  const { apiGroup, kind, name } = parameters;
  return `${apiGroup === undefined ? kind : `${kind}.${apiGroup}`}/${name}`;
}

const maxControllerBytes = 250;

function validateSpec(at: Cursor<IngressClassSpec>): void {
  const controller = at.field("controller").as(at.value.controller ?? "");
  if (Buffer.byteLength(controller.value) > maxControllerBytes) controller.tooLong(maxControllerBytes);
  validateDomainPath(controller);
  at.on("parameters", validateParameters);
}

const pathFormat = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+";
const pathPattern = new RegExp(`^${pathFormat}$`);

/** A path below a domain: `acme.io/ingress`. */
function validateDomainPath(at: Cursor<string>): void {
  if (!at.required()) return;
  const slash = at.value.indexOf("/");
  const [domain, path] = [at.value.slice(0, Math.max(slash, 0)), at.value.slice(slash + 1)];
  if (domain === "" || path === "") at.invalid('must be a domain-prefixed path (such as "acme.io/foo")');
  else if (dns1123Subdomain(domain)) at.invalid(dns1123Subdomain(domain), domain);
  else if (!pathPattern.test(path)) at.invalid(regexMessage("Invalid path", pathFormat), path);
}

function validateParameters(at: Cursor<IngressClassParametersReference>): void {
  const { scope, namespace } = at.value;
  at.field("apiGroup").rule(dns1123Subdomain);
  for (const name of ["kind", "name"] as const) {
    if (at.field(name).required()) at.field(name).rule(pathSegmentName);
  }
  at.field("scope").oneOf(["Cluster", "Namespace"]);
  if (scope === "Namespace") {
    if (namespace === undefined) at.field("namespace").missing("`parameters.scope` is set to 'Namespace'");
    at.field("namespace").rule(dns1123Label);
  } else if (scope === "Cluster" && namespace !== undefined) {
    at.field("namespace").forbidden("`parameters.scope` is set to 'Cluster'");
  }
}
