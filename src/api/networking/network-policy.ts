import { ageColumn, column } from "#api/meta/columns.ts";
import { isSmallerCidr, validateCidr, warnOfCidr } from "#api/meta/ip-address.ts";
import { formatLabelSelector, LabelSelector, validateLabelSelector } from "#api/meta/label-selector.ts";
import { portName, portNumber } from "#api/meta/names.ts";
import { defaulted, embedded, inGo, nullable, optional, present } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { atomicList, int32, intOrString, known, string } from "#schema/types.ts";
import { type Cursor } from "../cursor.ts";
import { defineResource, type NamespacedObject } from "../resource.ts";

const object = inPackage("networking/v1");

const NetworkPolicyPort = object("NetworkPolicyPort", "A port, or a range of ports, that a rule allows.", {
  protocol: inGo(
    { isPointer: true },
    defaulted(1, known("SCTP", "TCP", "UDP"), "TCP", "Protocol of the allowed traffic: TCP, UDP or SCTP."),
  ),
  port: nullable(2, intOrString(), "Number or name of the allowed port of the pods; all ports if absent."),
  endPort: nullable(3, int32(), "Last port of an allowed range that begins at port, which must be a number."),
});
interface NetworkPolicyPort extends Infer<typeof NetworkPolicyPort> {}

const IPBlock = object("IPBlock", "A range of IP addresses, without some parts of it.", {
  cidr: present(1, string(), "Range of IP addresses, such as 192.168.1.0/24 or 2001:db8::/64."),
  except: optional(2, atomicList(string()), "Ranges within cidr that do not belong to the block."),
});
interface IPBlock extends Infer<typeof IPBlock> {}

const NetworkPolicyPeer = object("NetworkPolicyPeer", "Who the other side of allowed traffic may be.", {
  podSelector: nullable(1, LabelSelector, "Selects pods, in the policy's namespace unless namespaceSelector is set."),
  namespaceSelector: nullable(2, LabelSelector, "Selects namespaces; all of their pods unless podSelector is set."),
  ipBlock: nullable(3, IPBlock, "Range of IP addresses. Cannot be combined with podSelector or namespaceSelector."),
});
interface NetworkPolicyPeer extends Infer<typeof NetworkPolicyPeer> {}

const ports = optional(1, atomicList(NetworkPolicyPort), "Ports that the rule allows; all ports if empty.");

const NetworkPolicyIngressRule = object("NetworkPolicyIngressRule", "Incoming traffic that a policy allows.", {
  ports,
  from: optional(2, atomicList(NetworkPolicyPeer), "Where allowed traffic may come from; anywhere if empty."),
});

const NetworkPolicyEgressRule = object("NetworkPolicyEgressRule", "Outgoing traffic that a policy allows.", {
  ports,
  to: optional(2, atomicList(NetworkPolicyPeer), "Where allowed traffic may go to; anywhere if empty."),
});

const about = "The pods of a network policy, and the traffic that they may have.";
const NetworkPolicySpec = object.filledBy(setPolicyTypes, "NetworkPolicySpec", about, {
  podSelector: embedded(1, LabelSelector, "Selects the pods of the policy; all pods of its namespace if empty."),
  ingress: optional(2, atomicList(NetworkPolicyIngressRule), "Incoming traffic that is allowed; none if empty."),
  egress: optional(3, atomicList(NetworkPolicyEgressRule), "Outgoing traffic that is allowed; none if empty."),
  policyTypes: optional(
    4,
    atomicList(known("Egress", "Ingress")),
    "Directions that the policy restricts: Ingress, Egress or both.",
  ),
});
interface NetworkPolicySpec extends Infer<typeof NetworkPolicySpec> {}

function setPolicyTypes(spec: { egress?: unknown[]; policyTypes?: string[] }): void {
  spec.policyTypes ??= spec.egress ? ["Ingress", "Egress"] : ["Ingress"];
}

const fields = { spec: embedded(2, NetworkPolicySpec) };
export interface NetworkPolicy extends NamespacedObject<typeof fields> {}

export const NetworkPolicy = defineResource("networking.k8s.io/v1.NetworkPolicy", fields, {
  doc: "Restricts the network traffic of pods.",
  shortNames: ["netpol"],
  hasGeneration: true,
  columns: [
    column("Pod-Selector", "Selects the pods.", ({ spec }) => formatLabelSelector(spec.podSelector) || "<none>"),
    ageColumn,
  ],

  validate: (policy) => validateSpec(policy.field("spec")),
  warnings(policy) {
    eachPeer(policy.field("spec"), (peer) =>
      peer.on("ipBlock", (at) => {
        warnOfCidr(at.field("cidr"));
        at.each("except", warnOfCidr);
      }),
    );
  },
});

function eachPeer(spec: Cursor<NetworkPolicySpec>, visit: (peer: Cursor<NetworkPolicyPeer>) => void): void {
  spec.each("ingress", (rule) => rule.each("from", visit));
  spec.each("egress", (rule) => rule.each("to", visit));
}

const directions: readonly string[] = ["Ingress", "Egress"];

function validateSpec(at: Cursor<NetworkPolicySpec>): void {
  validateLabelSelector(at.field("podSelector"));
  at.each("ingress", (rule) => {
    rule.each("ports", validatePort);
    rule.each("from", validatePeer);
  });
  at.each("egress", (rule) => {
    rule.each("ports", validatePort);
    rule.each("to", validatePeer);
  });
  const { policyTypes = [] } = at.value;
  if (policyTypes.length > directions.length) {
    at.field("policyTypes").invalid("may not specify more than two policyTypes");
  } else at.each("policyTypes", (type) => type.oneOf(directions));
}

function validatePort(at: Cursor<NetworkPolicyPort>): void {
  const { port, endPort } = at.value;
  at.field("protocol").oneOf(["TCP", "UDP", "SCTP"]);
  const end = at.field("endPort");
  if (typeof port === "number") {
    at.field("port").invalid(portNumber(port));
    if (endPort === undefined) return;
    // Upstream shows the first port here.
    if (endPort < port) end.invalid("must be greater than or equal to `port`", port);
    end.invalid(portNumber(endPort));
    return;
  }
  if (endPort !== undefined) {
    end.invalid(`may not be specified when \`port\` is ${port === undefined ? "not specified" : "non-numeric"}`);
  }
  at.field("port").rule(portName);
}

function validatePeer(at: Cursor<NetworkPolicyPeer>): void {
  const { podSelector, namespaceSelector, ipBlock } = at.value;
  at.on("podSelector", validateLabelSelector);
  at.on("namespaceSelector", validateLabelSelector);
  at.on("ipBlock", validateBlock);
  if (!podSelector && !namespaceSelector && !ipBlock) at.missing("must specify a peer");
  else if (ipBlock && (podSelector || namespaceSelector)) {
    at.forbidden("may not specify both ipBlock and another peer");
  }
}

function validateBlock(at: Cursor<IPBlock>): void {
  const { cidr } = at.value;
  if (!at.field("cidr").required()) return;
  validateCidr(at.field("cidr"));
  // What lies within a range that cannot be read is unknown.
  if (isSmallerCidr(cidr, cidr) === undefined) return;
  at.each("except", (except) => {
    validateCidr(except);
    if (isSmallerCidr(except.value, cidr) === false) except.invalid("must be a strict subset of `cidr`");
  });
}
