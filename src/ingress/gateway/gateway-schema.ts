import {
  choice,
  conditions,
  groupName,
  hostname,
  integer,
  keyed,
  kindName,
  labelSelector,
  list,
  namespaceName,
  objectName,
  type Part,
  pending,
  port,
  sectionName,
  struct,
  text,
  withRules,
} from "./schema-parts.ts";

const addressFields = (valueMore: Part) => ({
  type: text("Type of the address: IPAddress, Hostname or NamedAddress.", {
    ...{ minLength: 1, maxLength: 253, default: "IPAddress" },
  }),
  value: text("The address.", { maxLength: 253, ...valueMore }),
});

const routeKind = struct(
  "A kind of routes.",
  {
    group: groupName("API group of the kind.", { default: "gateway.networking.k8s.io" }),
    kind: kindName("The kind, such as HTTPRoute."),
  },
  { required: ["kind"] },
);

const certificateRef = struct(
  "A certificate with its key.",
  {
    group: groupName("API group of the object; the core group if empty.", { default: "" }),
    kind: kindName("Kind of the object.", { default: "Secret" }),
    name: objectName("Name of the object."),
    namespace: namespaceName("Namespace of the object; another one than the Gateway's needs a ReferenceGrant."),
  },
  { required: ["name"] },
);

const listenerTls = struct(
  "How TLS is done.",
  {
    mode: choice("Whether TLS ends at the Gateway or at the backend.", ["Terminate", "Passthrough"], {
      default: "Terminate",
    }),
    certificateRefs: list("Certificates of the listener.", certificateRef, 64),
    options: {
      ...{ type: "object", description: "Further settings of an implementation.", maxProperties: 16 },
      additionalProperties: { type: "string", maxLength: 4096 },
    },
  },
  {
    rules: [
      [
        "self.mode == 'Terminate' ? (has(self.certificateRefs) && size(self.certificateRefs) > 0) || (has(self.options) && size(self.options) > 0) : true",
        "certificateRefs or options must be specified when mode is Terminate",
      ],
    ],
  },
);

const from = (values: readonly string[], byDefault: string): Part =>
  struct(
    "Namespaces whose routes may be attached.",
    {
      from: choice("Which namespaces.", values, { default: byDefault }),
      selector: labelSelector("Labels of the namespaces, if from is Selector."),
    },
    { default: { from: byDefault } },
  );

const listener = struct(
  "A port with a protocol, and the hosts that are served there.",
  {
    name: sectionName("Name of the listener, unique in its Gateway."),
    hostname: hostname("The host that clients ask for; every host if absent."),
    port: port("The port on which clients connect."),
    protocol: text("The protocol: HTTP, HTTPS, TLS, TCP or UDP.", {
      ...{ minLength: 1, maxLength: 255 },
      pattern:
        "^[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?$|[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\\/[A-Za-z0-9]+$",
    }),
    tls: listenerTls,
    allowedRoutes: struct(
      "Which routes may be attached.",
      {
        namespaces: from(["All", "Selector", "Same"], "Same"),
        kinds: list("Kinds of routes; those of the protocol if empty.", routeKind, 8),
      },
      { default: { namespaces: { from: "Same" } } },
    ),
  },
  { required: ["name", "port", "protocol"] },
);

export const gatewaySpec = struct(
  "Where requests enter the cluster.",
  {
    gatewayClassName: objectName("Name of the GatewayClass whose controller implements the Gateway."),
    listeners: keyed("Ports, protocols and hosts.", "name", listener, {
      ...{ minItems: 1, maxItems: 64 },
      ...withRules([
        [
          "self.all(l, l.protocol in ['HTTP', 'TCP', 'UDP'] ? !has(l.tls) : true)",
          "tls must not be specified for protocols ['HTTP', 'TCP', 'UDP']",
        ],
        [
          "self.all(l, (l.protocol == 'HTTPS' && has(l.tls)) ? (l.tls.mode == '' || l.tls.mode == 'Terminate') : true)",
          "tls mode must be Terminate for protocol HTTPS",
        ],
        [
          "self.all(l, (l.protocol == 'TLS' ? has(l.tls) && has(l.tls.mode) && l.tls.mode != '' : true))",
          "tls mode must be set for protocol TLS",
        ],
        [
          "self.all(l, l.protocol in ['TCP', 'UDP'] ? (!has(l.hostname) || l.hostname == '') : true)",
          "hostname must not be specified for protocols ['TCP', 'UDP']",
        ],
        ["self.all(l1, self.exists_one(l2, l1.name == l2.name))", "Listener name must be unique within the Gateway"],
        [
          "self.all(l1, self.exists_one(l2, l1.port == l2.port && l1.protocol == l2.protocol && (has(l1.hostname) && has(l2.hostname) ? l1.hostname == l2.hostname : !has(l1.hostname) && !has(l2.hostname))))",
          "Combination of port, protocol and hostname must be unique for each listener",
        ],
      ]),
    }),
    addresses: list("Addresses that the Gateway should have.", struct("An address.", addressFields({})), 16),
    infrastructure: struct("Settings for what implements the Gateway.", {
      labels: {
        type: "object",
        description: "Labels.",
        maxProperties: 8,
        additionalProperties: { type: "string", maxLength: 63 },
      },
      annotations: {
        ...{ type: "object", description: "Annotations.", maxProperties: 8 },
        additionalProperties: { type: "string", maxLength: 4096 },
      },
      parametersRef: struct(
        "An object with further settings.",
        {
          group: groupName("API group of the object."),
          kind: kindName("Kind of the object."),
          name: objectName("Name of the object."),
        },
        { required: ["group", "kind", "name"] },
      ),
    }),
    allowedListeners: struct("Which ListenerSets may be attached.", {
      namespaces: from(["All", "Selector", "Same", "None"], "None"),
    }),
  },
  { required: ["gatewayClassName", "listeners"] },
);

const gatewayPending = pending("Accepted", "Programmed");
export const gatewayStatus = struct(
  "What the controller says about the Gateway.",
  {
    addresses: list(
      "Addresses at which the Gateway is reached.",
      struct("An address.", addressFields({ minLength: 1 }), { required: ["value"] }),
      16,
    ),
    attachedListenerSets: integer("How many ListenerSets are attached."),
    conditions: conditions("The state of the Gateway.", { default: gatewayPending }),
    listeners: keyed(
      "The state of each listener.",
      "name",
      struct(
        "The state of a listener.",
        {
          name: sectionName("Name of the listener."),
          attachedRoutes: integer("How many routes are attached."),
          supportedKinds: list("Kinds of routes that can be attached.", routeKind, 8),
          conditions: conditions("The state of the listener."),
        },
        { required: ["attachedRoutes", "conditions", "name"] },
      ),
      { maxItems: 64 },
    ),
  },
  { default: { conditions: gatewayPending } },
);
