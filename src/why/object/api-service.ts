import { type APIService } from "#api/apiregistration/api-service.ts";
import { findCondition } from "#api/meta/condition.ts";
import { type Explanation } from "../explanation.ts";

/** What helps, by the reason of the condition Available. */
const remedies: Readonly<Record<string, string>> = {
  ServiceNotFound: "Create the service, or name another one in spec.service.",
  ServicePortError: "Name a port of the service in spec.service.port.",
  EndpointsNotFound: "Give the service a selector that matches the pods of the server.",
  MissingEndpoints: "See why none of its pods is ready: `orlop why service/NAME -n NAMESPACE`.",
};

/** Who serves a group and version, and why nobody does. */
export function explainApiService({ metadata: { name }, spec, status }: APIService): Explanation {
  const { service, group = "", version = "" } = spec;
  const title = `APIService ${name}`;
  const condition = findCondition(status.conditions, "Available");
  const about = { hop: undefined, evidence: condition ? [`${condition.reason}: ${condition.message}`] : [] };
  if (!service)
    return { ...about, state: "Local", headline: `${title} is served by the API server itself.`, advice: [] };
  const server = `service ${service.namespace ?? ""}/${service.name ?? ""} port ${service.port}`;
  if (condition?.status === "True")
    return { ...about, state: "Available", headline: `${title} is available: ${server} answers for it.`, advice: [] };
  if (!condition) {
    const headline = `${title} has not been checked yet: requests for ${group}/${version} are answered with 503.`;
    return { ...about, state: "Unknown", headline, advice: ["Wait a moment: the API server checks new ones at once."] };
  }
  return {
    ...about,
    state: condition.reason ?? "Unavailable",
    headline: `${title} is not available, so requests for ${group}/${version} are answered with 503, and no namespace can be deleted completely while ${server} does not describe it.`,
    advice: [remedies[condition.reason ?? ""] ?? adviceFor(condition.message ?? "", service), restOf(name)],
  };
}

function adviceFor(message: string, service: { readonly namespace?: string; readonly name?: string }): string {
  if (/x509|certificate/.test(message)) {
    const host = `${service.name ?? ""}.${service.namespace ?? ""}.svc`;
    return `The certificate of the server must be for ${host} and come from spec.caBundle.`;
  }
  if (/bad status from .*: 40[13]/.test(message))
    return "The server does not accept this API server as a front proxy: it must trust what kube-system/extension-apiserver-authentication says.";
  return "See the log of the pods behind the service: the server must answer within 5 seconds.";
}

const restOf = (name: string): string =>
  `If the server is gone for good, delete the APIService: \`kubectl delete apiservice ${name}\`.`;
