/** A part of an OpenAPI schema, as CustomResourceDefinitions have it. */
export interface Part {
  readonly [key: string]: unknown;
}

const name = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const domain = `${name}(\\.${name})*`;
const pattern = (text: string): string => `^${text}$`;

export const text = (description: string, more: Part = {}): Part => ({ type: "string", description, ...more });
export const integer = (description: string, more: Part = {}): Part => ({
  ...{ type: "integer", format: "int32", description },
  ...more,
});
export const choice = (description: string, values: readonly string[], more: Part = {}): Part =>
  text(description, { enum: values, ...more });

export function struct(
  description: string,
  properties: Readonly<Record<string, Part>>,
  {
    required = [],
    rules = [],
    ...more
  }: { required?: readonly string[]; rules?: readonly Rule[]; [key: string]: unknown } = {},
): Part {
  return {
    ...{ type: "object", description, properties },
    ...(required.length > 0 ? { required } : {}),
    ...withRules(rules),
    ...more,
  };
}

/** A rule in CEL, and what users are told. */
export type Rule = readonly [rule: string, message: string];
export const withRules = (rules: readonly Rule[]): Part =>
  rules.length > 0 ? { "x-kubernetes-validations": rules.map(([rule, message]) => ({ rule, message })) } : {};

export const list = (description: string, items: Part, maxItems: number, more: Part = {}): Part => ({
  ...{ type: "array", description, items, maxItems, "x-kubernetes-list-type": "atomic" },
  ...more,
});
/** A list whose items are told apart by one field. */
export const keyed = (
  description: string,
  key: string,
  items: Part,
  more: Part & { readonly maxItems: number },
): Part => ({
  ...{ type: "array", description, items },
  ...{ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [key] },
  ...more,
});

export const port = (description: string): Part => integer(description, { minimum: 1, maximum: 65_535 });
export const objectName = (description: string): Part => text(description, { minLength: 1, maxLength: 253 });
export const sectionName = (description: string): Part => ({ ...objectName(description), pattern: pattern(domain) });
export const namespaceName = (description: string): Part =>
  text(description, { minLength: 1, maxLength: 63, pattern: pattern(name) });
export const groupName = (description: string, more: Part = {}): Part =>
  text(description, { maxLength: 253, pattern: `^$|${pattern(domain)}`, ...more });
export const kindName = (description: string, more: Part = {}): Part =>
  text(description, { minLength: 1, maxLength: 63, pattern: "^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$", ...more });
export const hostname = (description: string): Part =>
  text(description, { minLength: 1, maxLength: 253, pattern: `^(\\*\\.)?${domain}$` });
export const preciseHostname = (description: string): Part =>
  text(description, { minLength: 1, maxLength: 253, pattern: pattern(domain) });
export const controllerName = (description: string): Part =>
  text(description, {
    ...{ minLength: 1, maxLength: 253 },
    pattern: `^${domain}\\/[A-Za-z0-9\\/\\-._~%!$&'()*+,;=:]+$`,
  });
export const headerName = (description: string): Part =>
  text(description, { minLength: 1, maxLength: 256, pattern: "^[A-Za-z0-9!#$%&'*+\\-.^_\\x60|~]+$" });
export const duration = (description: string): Part => text(description, { pattern: "^([0-9]{1,5}(h|m|s|ms)){1,4}$" });

const condition = struct(
  "One aspect of the state of the object.",
  {
    type: text("Name of the aspect.", { maxLength: 316 }),
    status: choice("Whether it applies: True, False or Unknown.", ["True", "False", "Unknown"]),
    reason: text("Why, as one word in CamelCase.", {
      ...{ minLength: 1, maxLength: 1024 },
      pattern: "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
    }),
    message: text("Why, for people.", { maxLength: 32_768 }),
    lastTransitionTime: text("When the status last changed.", { format: "date-time" }),
    observedGeneration: integer("The generation of the object that this is about.", { format: "int64", minimum: 0 }),
  },
  { required: ["lastTransitionTime", "message", "reason", "status", "type"] },
);
export const conditions = (description: string, more: Part = {}): Part =>
  keyed(description, "type", condition, { maxItems: 8, ...more });

/** What objects have before a controller has looked at them. */
export const pending = (...types: readonly string[]) =>
  types.map((type) => ({
    ...{ type, status: "Unknown", reason: "Pending", message: "Waiting for controller" },
    lastTransitionTime: "1970-01-01T00:00:00Z",
  }));

const gatewayGroup = "gateway.networking.k8s.io";

export const labelSelector = (description: string): Part =>
  struct(
    description,
    {
      matchLabels: {
        type: "object",
        description: "Labels that must be there.",
        additionalProperties: { type: "string" },
      },
      matchExpressions: {
        ...{ type: "array", description: "Conditions on labels.", "x-kubernetes-list-type": "atomic" },
        items: struct(
          "A condition on a label.",
          {
            key: text("Name of the label."),
            operator: text("In, NotIn, Exists or DoesNotExist."),
            values: {
              ...{ type: "array", description: "Values for In and NotIn.", items: { type: "string" } },
              "x-kubernetes-list-type": "atomic",
            },
          },
          { required: ["key", "operator"] },
        ),
      },
    },
    { "x-kubernetes-map-type": "atomic" },
  );

const parentRef = struct(
  "The Gateway, or a listener of it, that a route wants to be attached to.",
  {
    group: groupName("API group of the parent.", { default: gatewayGroup }),
    kind: kindName("Kind of the parent.", { default: "Gateway" }),
    namespace: namespaceName("Namespace of the parent; that of the route if absent."),
    name: objectName("Name of the parent."),
    sectionName: sectionName("Name of a listener; all listeners if absent."),
    port: port("Port of listeners; all ports if absent."),
  },
  { required: ["name"] },
);

const sameParent = [
  "p1.group == p2.group && p1.kind == p2.kind && p1.name == p2.name",
  "(has(p1.__namespace__) ? p1.__namespace__ : '') == (has(p2.__namespace__) ? p2.__namespace__ : '')",
].join(" && ");
const section = (one: string): string => `(has(${one}.sectionName) ? ${one}.sectionName : '')`;

const parentRefs = list("Gateways that the route wants to be attached to.", parentRef, 32, {
  ...withRules([
    [
      `self.all(p1, self.all(p2, ${sameParent} ? (${section("p1")} == '') == (${section("p2")} == '') : true))`,
      "sectionName must be specified when parentRefs includes 2 or more references to the same parent",
    ],
    [
      `self.all(p1, self.exists_one(p2, ${sameParent} && ${section("p1")} == ${section("p2")}))`,
      "sectionName must be unique when parentRefs includes 2 or more references to the same parent",
    ],
  ]),
});

/** The fields that routes for requests have. */
export const routeFields = {
  parentRefs,
  hostnames: list(
    "Hosts of the requests; all hosts of the listeners if empty.",
    hostname("A host; it may begin with *."),
    16,
  ),
};

const plainHost = `matches('^(${domain.replaceAll("\\", "\\\\")})$')`;
/** The fields that routes for TLS connections have. */
export const connectionFields = {
  parentRefs,
  hostnames: list("Names that clients ask for when TLS begins.", hostname("A host; it may begin with *."), 1024, {
    minItems: 1,
    ...withRules([
      ["self.all(h, !isIP(h))", "Hostnames cannot contain an IP"],
      [`self.all(h, !h.contains('*') ? h.${plainHost} : true)`, "Hostnames must be valid based on RFC-1123"],
      [
        `self.all(h, h.contains('*') ? (h.startsWith('*.') && h.substring(2).${plainHost}) : true)`,
        "Wildcards on hostnames must be the first label, and the rest of hostname must be valid based on RFC-1123",
      ],
    ]),
  }),
};

export const routeStatus = struct(
  "What Gateways say about the route.",
  {
    parents: list(
      "One entry for each parent.",
      struct(
        "What one parent says.",
        {
          parentRef,
          controllerName: controllerName("The controller that wrote this."),
          conditions: conditions("What the parent does with the route.", { minItems: 1 }),
        },
        { required: ["conditions", "controllerName", "parentRef"] },
      ),
      32,
    ),
  },
  { required: ["parents"] },
);

const needsPort: Rule = [
  "(size(self.group) == 0 && self.kind == 'Service') ? has(self.port) : true",
  "Must have port for Service reference",
];
const backendFields = {
  group: groupName("API group of the backend; the core group if empty.", { default: "" }),
  kind: kindName("Kind of the backend.", { default: "Service" }),
  namespace: namespaceName("Namespace of the backend; another one than the route's needs a ReferenceGrant."),
  name: objectName("Name of the backend."),
  port: port("Port of the service."),
};
export const mirrorBackend = struct("Where copies go.", backendFields, { required: ["name"], rules: [needsPort] });

/** Filters are for requests; connections have none. */
export const backendRefs = (what: "requests" | "connections", filters?: Part): Part =>
  list(
    `Where ${what} go, each with its share.`,
    struct(
      `A backend and its share of the ${what}.`,
      {
        ...backendFields,
        weight: integer(`Share of the ${what}, in relation to the other weights.`, {
          ...{ minimum: 0, maximum: 1_000_000, default: 1 },
        }),
        ...(filters ? { filters } : {}),
      },
      { required: ["name"], rules: [needsPort] },
    ),
    16,
    filters ? {} : { minItems: 1 },
  );

const headerList = (description: string): Part =>
  keyed(
    description,
    "name",
    struct(
      "A header.",
      {
        name: headerName("Name of the header."),
        value: text("Value of the header.", { minLength: 1, maxLength: 4096 }),
      },
      { required: ["name", "value"] },
    ),
    { maxItems: 16 },
  );
export const headerModifier = (description: string): Part =>
  struct(description, {
    set: headerList("Headers that get this value."),
    add: headerList("Headers that are added."),
    remove: list("Names of headers that are removed.", { type: "string" }, 16, { "x-kubernetes-list-type": "set" }),
  });

export const requestMirror = struct(
  "Sends copies of requests to another backend.",
  {
    backendRef: mirrorBackend,
    percent: integer("How many of 100 requests are copied.", { minimum: 0, maximum: 100 }),
    fraction: struct(
      "Which part of the requests is copied.",
      {
        numerator: integer("How many.", { minimum: 0 }),
        denominator: integer("Of how many.", { minimum: 1, default: 100 }),
      },
      {
        required: ["numerator"],
        rules: [["self.numerator <= self.denominator", "numerator must be less than or equal to denominator"]],
      },
    ),
  },
  {
    required: ["backendRef"],
    rules: [
      [
        "!(has(self.percent) && has(self.fraction))",
        "Only one of percent or fraction may be specified in HTTPRequestMirrorFilter",
      ],
    ],
  },
);

export const extensionRef = struct(
  "A filter of an implementation of its own.",
  {
    group: groupName("API group of the filter."),
    kind: kindName("Kind of the filter."),
    name: objectName("Name of the filter."),
  },
  { required: ["group", "kind", "name"] },
);

/** Each type of a filter has a field of its own, and no other. */
export const filterRules = (fields: Readonly<Record<string, string>>): Rule[] =>
  Object.entries(fields).flatMap(([field, type]): Rule[] => [
    [
      `!(has(self.${field}) && self.type != '${type}')`,
      `filter.${field} must be nil if the filter.type is not ${type}`,
    ],
    [`!(!has(self.${field}) && self.type == '${type}')`, `filter.${field} must be specified for ${type} filter.type`],
  ]);
export const onlyOnce = (...types: readonly string[]): Rule[] =>
  types.map((type) => [`self.filter(f, f.type == '${type}').size() <= 1`, `${type} filter cannot be repeated`]);

/** At most 128 matches in all rules. The fixed number of terms lets the server know what it costs. */
export const fewMatches = (size: (at: number) => string): Rule => [
  `${Array.from({ length: 16 }, (_, at) => `(self.size() > ${at} ? ${size(at)} : 0)`).join(" + ")} <= 128`,
  "While 16 rules and 64 matches per rule are allowed, the total number of matches across all rules in a route must be less than 128",
];
