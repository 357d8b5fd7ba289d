import { isReady } from "#api/core/pod/pod-state.ts";
import { type Pod } from "#api/core/pod.ts";
import { type Service, type ServicePort } from "#api/core/service.ts";
import { formatLabels } from "#api/meta/label-selector.ts";
import { counted, type Explain, type Explanation } from "./explanation.ts";
import { type PodFacts, type ServiceFacts } from "./facts.ts";
import { podName } from "./pod/pod-parts.ts";

const serviceName = ({ metadata }: Service): string => metadata.name;

/** Where a service's traffic goes, or why it goes nowhere: hop 12. */
export function explainService(facts: ServiceFacts, explainStuck: Explain<PodFacts>): Explanation {
  return explainNoTraffic(facts, explainStuck) ?? ignored(facts) ?? served(facts);
}

/** The proxy's events say which parts of a service it ignores, and when that is resolved. */
function ignored({ service, events = [] }: ServiceFacts): Explanation | undefined {
  const last = events.findLast(({ reason }) => reason === "NetworkRuleIgnored" || reason === "NetworkRulesInPlace");
  if (last?.reason !== "NetworkRuleIgnored") return undefined;
  return {
    hop: "serve",
    state: "RuleIgnored",
    headline: `Service ${serviceName(service)} works, but the node ignores part of it.`,
    evidence: last.message.split("; "),
    advice: [
      "An external address must not belong to the cluster, its nodes or an older service: choose another, or remove it.",
    ],
  };
}

/** Undefined if traffic reaches the pods. */
export function explainNoTraffic(facts: ServiceFacts, explainStuck: Explain<PodFacts>): Explanation | undefined {
  const { service, pods } = facts;
  const { type, selector = {} } = service.spec;
  if (type === "ExternalName") return undefined;
  if (Object.keys(selector).length === 0) return readyEndpoints(facts) > 0 ? undefined : byHand(service);
  if (pods.length === 0) return matchesNothing(facts);
  const wrong = wrongPort(facts);
  if (wrong) return wrong;
  if (!pods.some(isReady)) return noneReady(facts, explainStuck);
  if (readyEndpoints(facts) === 0) return notInSlices(facts);
  return undefined;
}

const readyEndpoints = ({ slices }: ServiceFacts): number =>
  slices.reduce(
    (sum, { endpoints }) => sum + endpoints.filter(({ conditions }) => conditions?.ready ?? true).length,
    0,
  );

function byHand(service: Service): Explanation {
  return {
    hop: "serve",
    state: "NoEndpoints",
    headline: `Service ${serviceName(service)} has no endpoints: it has no selector, and nobody has written endpoints for it.`,
    evidence: ["spec.selector is empty", "no EndpointSlice with a ready endpoint belongs to it"],
    advice: [
      `Give it a selector, or write an EndpointSlice with the label kubernetes.io/service-name=${serviceName(service)}.`,
    ],
  };
}

function matchesNothing({ service, near }: ServiceFacts): Explanation {
  const { selector = {} } = service.spec;
  const wanted = formatLabels(selector);
  const [closest] = near;
  const differs = closest ? differences(selector, closest) : "";
  return {
    hop: "serve",
    state: "NoEndpoints",
    headline: `Service ${serviceName(service)} has no endpoints because no pod in namespace ${service.metadata.namespace} has the labels ${wanted}.`,
    evidence: [
      `spec.selector: ${wanted}`,
      ...(closest
        ? [`the closest match is pod ${podName(closest)}: ${differs}`]
        : ["no pod in the namespace matches any part of it"]),
    ],
    advice: [
      closest
        ? "Make the selector and the labels agree: correct the service, or the labels of the pod template."
        : "Start the pods, or correct the selector or the namespace.",
    ],
  };
}

const differences = (selector: Readonly<Record<string, string>>, { metadata }: Pod): string =>
  Object.entries(selector)
    .filter(([key, value]) => metadata.labels?.[key] !== value)
    .map(([key, value]) => `it has ${key}=${metadata.labels?.[key] ?? "(nothing)"} instead of ${value}`)
    .join(", ");

/** A missing port name is certainly wrong; an undeclared port number is only a hint. */
function wrongPort({ service, pods }: ServiceFacts): Explanation | undefined {
  const [pod] = pods;
  if (!pod) return undefined;
  for (const port of service.spec.ports ?? []) {
    if (typeof port.targetPort !== "string") continue;
    const has = pods.some(({ spec }) =>
      spec.containers.some(({ ports = [] }) => ports.some(({ name }) => name === port.targetPort)),
    );
    if (has) continue;
    const names = declaredPorts(pod);
    return {
      hop: "serve",
      state: "WrongPort",
      headline: `Service ${serviceName(service)} has no endpoints because no container of its pods has a port called ${port.targetPort}.`,
      evidence: [
        `port ${port.port} has targetPort ${port.targetPort}`,
        `pod ${podName(pod)} has ${names || "no ports"}`,
      ],
      advice: ["Set targetPort to the name or the number of a container port."],
    };
  }
  return undefined;
}

const declaredPorts = ({ spec }: Pod): string =>
  spec.containers
    .flatMap(({ ports = [] }) =>
      ports.map(({ name, containerPort }) => (name ? `${name} (${containerPort})` : `${containerPort}`)),
    )
    .join(", ");

function noneReady({ service, pods, stuck }: ServiceFacts, explainStuck: Explain<PodFacts>): Explanation {
  const inner = stuck && explainStuck(stuck);
  return {
    hop: inner?.hop ?? "serve",
    state: "NoReadyEndpoints",
    headline: `Service ${serviceName(service)} has no ready endpoints because ${pods.length === 1 ? "its only pod is not" : `none of its ${pods.length} pods is`} ready${inner ? `: ${inner.headline}` : "."}`,
    evidence: inner?.evidence ?? [],
    advice: inner?.advice ?? [],
  };
}

function notInSlices({ service, pods }: ServiceFacts): Explanation {
  const ready = pods.filter(isReady).length;
  return {
    hop: "control",
    state: "NoEndpoints",
    headline: `Service ${serviceName(service)} has ${counted(ready, "ready pod")}, but its EndpointSlices do not show them.`,
    evidence: ["the EndpointSlice controller has not written them yet"],
    advice: ["Ask again in a moment. If this persists, check that the controllers are running."],
  };
}

function served(facts: ServiceFacts): Explanation {
  const { service, pods } = facts;
  const { type, externalName, clusterIP, ports = [] } = service.spec;
  const name = serviceName(service);
  if (type === "ExternalName") {
    return {
      hop: undefined,
      state: "ExternalName",
      headline: `Service ${name} is an alias for ${externalName}: it has no endpoints of its own.`,
      evidence: [],
      advice: [],
    };
  }
  const hints = ports.flatMap((port) => undeclared(port, pods));
  return {
    hop: undefined,
    state: "Serving",
    headline: `Service ${name} leads to ${counted(readyEndpoints(facts), "ready endpoint")}: nothing is stuck.`,
    evidence: [
      `${clusterIP ?? ""} ${ports.map(({ port, targetPort }) => `${port} → ${targetPort}`).join(", ")}`,
      ...hints,
    ],
    advice:
      hints.length > 0
        ? ["If connections are refused, compare targetPort with the port that the program listens on."]
        : [],
  };
}

function undeclared({ port, targetPort }: ServicePort, pods: readonly Pod[]): string[] {
  const declared = pods.flatMap(({ spec }) =>
    spec.containers.flatMap(({ ports = [] }) => ports.map(({ containerPort }) => containerPort)),
  );
  if (typeof targetPort !== "number" || declared.length === 0 || declared.includes(targetPort)) return [];
  return [`port ${port} goes to ${targetPort}, and its pods declare only ${[...new Set(declared)].join(", ")}`];
}
