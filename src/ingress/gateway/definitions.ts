import { type CustomResourceDefinition } from "#api/apiextensions/custom-resource-definition.ts";
import { type InputOf } from "#api/resource.ts";
import { gatewaySpec, gatewayStatus } from "./gateway-schema.ts";
import { grpcRouteSpec, httpRouteSpec, tlsRouteSpec } from "./route-schema.ts";
import {
  conditions,
  controllerName,
  groupName,
  keyed,
  kindName,
  list,
  namespaceName,
  objectName,
  type Part,
  pending,
  routeStatus,
  struct,
  text,
} from "./schema-parts.ts";

export const gatewayGroup = "gateway.networking.k8s.io";

interface Kind {
  readonly kind: string;
  readonly plural: string;
  readonly shortNames?: readonly string[];
  readonly scope: "Namespaced" | "Cluster";
  readonly description: string;
  readonly spec: Part;
  readonly status?: Part;
  readonly columns: readonly Part[];
  /** The first one is stored. */
  readonly versions: readonly string[];
}

const age = { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" };
const column = (name: string, jsonPath: string): Part => ({ name, type: "string", jsonPath });
const conditionColumn = (type: string): Part => column(type, `.status.conditions[?(@.type=="${type}")].status`);

const parameters = struct(
  "An object with further settings.",
  {
    group: groupName("API group of the object."),
    kind: kindName("Kind of the object."),
    name: objectName("Name of the object."),
    namespace: namespaceName("Namespace of the object, if its kind has namespaces."),
  },
  { required: ["group", "kind", "name"] },
);

const classSpec = struct(
  "Which controller implements Gateways of the class.",
  {
    controllerName: {
      ...controllerName("The controller, such as example.com/gateway. Cannot be changed."),
      "x-kubernetes-validations": [{ rule: "self == oldSelf", message: "Value is immutable" }],
    },
    description: text("What the class is for.", { maxLength: 64 }),
    parametersRef: parameters,
  },
  { required: ["controllerName"] },
);
const classPending = pending("Accepted");
const classStatus = struct(
  "What the controller says about the class.",
  {
    conditions: conditions("Whether the controller accepts the class.", { default: classPending }),
    supportedFeatures: keyed(
      "Optional parts of the API that the controller implements.",
      "name",
      struct("An optional part of the API.", { name: text("Name of the part.") }, { required: ["name"] }),
      { maxItems: 64 },
    ),
  },
  { default: { conditions: classPending } },
);

const grantSpec = struct(
  "Which references from other namespaces are allowed.",
  {
    from: list(
      "Who may refer to objects of this namespace.",
      struct(
        "Objects that may refer.",
        {
          group: groupName("API group of the objects."),
          kind: kindName("Kind of the objects."),
          namespace: namespaceName("Namespace of the objects."),
        },
        { required: ["group", "kind", "namespace"] },
      ),
      16,
      { minItems: 1 },
    ),
    to: list(
      "Which objects of this namespace they may refer to.",
      struct(
        "Objects that may be referred to.",
        {
          group: groupName("API group of the objects; empty for the core group."),
          kind: kindName("Kind of the objects."),
          name: objectName("Name of the object; all if absent."),
        },
        { required: ["group", "kind"] },
      ),
      16,
      { minItems: 1 },
    ),
  },
  { required: ["from", "to"] },
);

const routeColumns = [column("Hostnames", ".spec.hostnames"), age];

const kinds: readonly Kind[] = [
  {
    ...{ kind: "GatewayClass", plural: "gatewayclasses", shortNames: ["gc"], scope: "Cluster" },
    description: "Names the controller that implements Gateways of a class.",
    ...{ spec: classSpec, status: classStatus, versions: ["v1", "v1beta1"] },
    columns: [column("Controller", ".spec.controllerName"), conditionColumn("Accepted"), age],
  },
  {
    ...{ kind: "Gateway", plural: "gateways", shortNames: ["gtw"], scope: "Namespaced" },
    description: "Where requests enter the cluster: ports, protocols, hosts and certificates.",
    ...{ spec: gatewaySpec, status: gatewayStatus, versions: ["v1", "v1beta1"] },
    columns: [
      column("Class", ".spec.gatewayClassName"),
      column("Address", ".status.addresses[*].value"),
      conditionColumn("Programmed"),
      age,
    ],
  },
  {
    ...{ kind: "HTTPRoute", plural: "httproutes", scope: "Namespaced", versions: ["v1", "v1beta1"] },
    description: "Which HTTP requests of a Gateway go to which services.",
    ...{ spec: httpRouteSpec, status: routeStatus, columns: routeColumns },
  },
  {
    ...{ kind: "GRPCRoute", plural: "grpcroutes", scope: "Namespaced", versions: ["v1"] },
    description: "Which gRPC calls of a Gateway go to which services.",
    ...{ spec: grpcRouteSpec, status: routeStatus, columns: routeColumns },
  },
  {
    ...{ kind: "TLSRoute", plural: "tlsroutes", scope: "Namespaced", versions: ["v1"] },
    description: "Which TLS connections of a Gateway go to which services, by the name that clients ask for.",
    ...{ spec: tlsRouteSpec, status: routeStatus, columns: [age] },
  },
  {
    ...{ kind: "ReferenceGrant", plural: "referencegrants", shortNames: ["refgrant"], scope: "Namespaced" },
    description: "Allows objects of other namespaces to refer to objects of this one.",
    ...{ spec: grantSpec, columns: [age], versions: ["v1beta1", "v1"] },
  },
];

function definitionOf(kind: Kind): InputOf<CustomResourceDefinition> {
  const { spec, status, description, plural } = kind;
  const needsSpec = kind.kind !== "GRPCRoute" && kind.kind !== "ReferenceGrant";
  const properties = {
    apiVersion: { type: "string" },
    kind: { type: "string" },
    metadata: { type: "object" },
    spec,
    ...(status ? { status } : {}),
  };
  const schema = { type: "object", description, properties, ...(needsSpec ? { required: ["spec"] } : {}) };
  const versions = kind.versions.map((name, index) => ({
    ...{ name, served: true, storage: index === 0, additionalPrinterColumns: kind.columns },
    schema: { openAPIV3Schema: schema },
    ...(status ? { subresources: { status: {} } } : {}),
  }));
  const names = {
    ...{ kind: kind.kind, plural, singular: kind.kind.toLowerCase(), categories: ["gateway-api"] },
    ...(kind.shortNames ? { shortNames: kind.shortNames } : {}),
  };
  const definition = {
    metadata: {
      name: `${plural}.${gatewayGroup}`,
      annotations: {
        "api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/gateway-api/pull/4530",
        "gateway.networking.k8s.io/bundle-version": "v1.6.1",
        "gateway.networking.k8s.io/channel": "standard",
      },
    },
    spec: { group: gatewayGroup, scope: kind.scope, names, versions },
  };
  // The schemas are plain data, and the server checks every one of them.
  return definition as unknown as InputOf<CustomResourceDefinition>;
}

/** The kinds of the Gateway API, release 1.6, as far as this component serves them. */
export const gatewayDefinitions: readonly InputOf<CustomResourceDefinition>[] = kinds.map(definitionOf);
