import { counted, type Explain, type Explanation, firstOf } from "../explanation.ts";
import { type IngressFacts, type PodFacts } from "../facts.ts";
import { explainNoTraffic } from "../traffic.ts";
import { backendsOf } from "./gather-ingress.ts";

const nameOf = ({ ingress }: IngressFacts): string => `Ingress ${ingress.metadata.name}`;
const problem = (state: string, headline: string, rest: Partial<Explanation> = {}): Explanation => ({
  ...{ hop: "serve", state, headline, evidence: [], advice: [] },
  ...rest,
});

/** Where the requests of an Ingress go, or why they go nowhere. */
export function explainIngress(facts: IngressFacts, explainStuck: Explain<PodFacts>): Explanation {
  const found = firstOf([withoutClass, notServed, withoutService, withoutPort, withoutCertificate, ignored], facts);
  return found ?? withoutEndpoints(facts, explainStuck) ?? failing(facts) ?? served(facts);
}

function withoutClass(facts: IngressFacts): Explanation | undefined {
  const { className, ingressClass } = facts;
  const advice = ["`kubectl get ingressclass` shows the classes; set spec.ingressClassName to one of them."];
  if (className === undefined) {
    return problem("NoClass", `${nameOf(facts)} is served by nobody because it names no class.`, { advice });
  }
  if (ingressClass) return undefined;
  const headline = `${nameOf(facts)} is served by nobody because the class ${className} does not exist.`;
  const start = "The class orlop exists once the cluster was started with `orlop up --ingress`.";
  return problem("NoClass", headline, { advice: [...advice, start] });
}

/** No controller has written an address. */
function notServed(facts: IngressFacts): Explanation | undefined {
  const { ingress, ingressClass } = facts;
  if (ingress.status.loadBalancer.ingress?.length) return undefined;
  const controller = ingressClass?.spec.controller ?? "";
  return problem(
    "NoController",
    `${nameOf(facts)} has no address: the controller ${controller} has not served it yet.`,
    {
      evidence: [`class ${ingressClass?.metadata.name} belongs to ${controller}`],
      advice: [
        controller.startsWith("orlop.dev/")
          ? "Start the cluster with `orlop up --ingress`."
          : "Check that the controller runs and that it watches this namespace.",
      ],
    },
  );
}

function withoutService(facts: IngressFacts): Explanation | undefined {
  const missing = [...facts.services].filter(([, service]) => !service).map(([name]) => name);
  const [first] = missing;
  if (first === undefined) return undefined;
  const { namespace } = facts.ingress.metadata;
  return problem(
    "NoService",
    `Requests of ${nameOf(facts)} fail because service ${first} does not exist in namespace ${namespace}.`,
    {
      evidence: missing.map((name) => `service ${namespace}/${name} does not exist`),
      advice: ["Create the service, or name another one in the rules."],
    },
  );
}

function withoutPort(facts: IngressFacts): Explanation | undefined {
  for (const { service } of backendsOf(facts.ingress)) {
    const found = service && facts.services.get(service.name)?.service;
    if (!service || !found) continue;
    const { name, number } = service.port;
    const ports = found.spec.ports ?? [];
    if (ports.some((one) => (name ? one.name === name : one.port === number))) continue;
    const has = ports.map((one) => (one.name ? `${one.name} (${one.port})` : `${one.port}`)).join(", ");
    return problem(
      "NoPort",
      `Requests of ${nameOf(facts)} fail because service ${service.name} has no port ${name || number}.`,
      {
        evidence: [`service ${service.name} has ${has || "no ports"}`],
        advice: ["Name a port of the service: its port, not its targetPort."],
      },
    );
  }
  return undefined;
}

function withoutCertificate(facts: IngressFacts): Explanation | undefined {
  for (const [name, type] of facts.secrets) {
    if (type === "kubernetes.io/tls" || type === "hidden") continue;
    const why = type === undefined ? `secret ${name} does not exist` : `secret ${name} has the type ${type}`;
    return problem("NoCertificate", `${nameOf(facts)} has no certificate because ${why}.`, {
      evidence: [why, "HTTPS connections for its hosts are refused; HTTP works"],
      advice: [`\`kubectl create secret tls ${name} --cert FILE --key FILE\` creates it.`],
    });
  }
  return undefined;
}

/** The controller's events say what it ignores, and when that is resolved. */
function ignored(facts: IngressFacts): Explanation | undefined {
  const last = facts.events.findLast(({ reason }) => reason === "IngressIgnored" || reason === "IngressInPlace");
  if (last?.reason !== "IngressIgnored") return undefined;
  return problem("PartIgnored", `A part of ${nameOf(facts)} is ignored.`, { evidence: last.message.split("; ") });
}

function withoutEndpoints(
  { services, ...facts }: IngressFacts,
  explainStuck: Explain<PodFacts>,
): Explanation | undefined {
  for (const service of services.values()) {
    const inner = service && explainNoTraffic(service, explainStuck);
    if (inner) return { ...inner, headline: `Requests of ${nameOf({ services, ...facts })} fail: ${inner.headline}` };
  }
  return undefined;
}

function failing(facts: IngressFacts): Explanation | undefined {
  const last = facts.events.findLast(({ reason }) => reason === "RequestsFailed");
  if (!last) return undefined;
  return problem("RequestsFailed", `${nameOf(facts)} is served, but some of its requests failed lately.`, {
    evidence: [last.message],
    advice: ["Compare the time of the event with the restarts and the log of the pods."],
  });
}

function served(facts: IngressFacts): Explanation {
  const { ingress, services } = facts;
  const points = (ingress.status.loadBalancer.ingress ?? []).map(({ ip, hostname }) => ip ?? hostname ?? "");
  const hosts = (ingress.spec.rules ?? []).map(({ host }) => host || "every host");
  return {
    ...{ hop: undefined, state: "Serving", advice: [] },
    headline: `${nameOf(facts)} leads to ${counted(services.size, "service")} with ready endpoints: nothing is stuck.`,
    evidence: [
      `reached at ${points.join(", ")}`,
      ...(hosts.length > 0 ? [`for ${[...new Set(hosts)].join(", ")}`] : []),
    ],
  };
}
