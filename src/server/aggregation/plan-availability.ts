import { type APIService } from "#api/apiregistration/api-service.ts";
import { type Service } from "#api/core/service.ts";
import { type EndpointSlice } from "#api/discovery/endpoint-slice.ts";
import { findCondition } from "#api/meta/condition.ts";
import { type ServiceRef } from "./remote-api.ts";

/** What is known about an extension server without asking it. */
export interface Surroundings {
  readonly service: Service | undefined;
  /** The slices of that service. */
  readonly slices: readonly EndpointSlice[];
}

export interface Verdict {
  readonly status: "True" | "False";
  readonly reason: string;
  readonly message: string;
}

export const passed: Verdict = { status: "True", reason: "Passed", message: "all checks passed" };

/** Why the server cannot be reached; undefined if only it can tell. */
export function planAvailability(
  { namespace, name, port }: ServiceRef,
  { service, slices }: Surroundings,
): Verdict | undefined {
  const at = `service/${name} in ${JSON.stringify(namespace)}`;
  if (!service) return missing("ServiceNotFound", `${at} is not present`);
  if (service.spec.type !== "ClusterIP") return undefined;
  const found = service.spec.ports?.find((one) => one.port === port);
  if (!found) return missing("ServicePortError", `${at} is not listening on port ${port}`);
  if (slices.length === 0) return missing("EndpointsNotFound", `cannot find endpointslices for ${at}`);
  const portName = found.name ?? "";
  if (slices.some((slice) => hasEndpoint(slice, portName))) return undefined;
  const lack = `endpointslices for ${at} have no addresses with port name ${JSON.stringify(portName)}`;
  return missing("MissingEndpoints", lack);
}

const missing = (reason: string, message: string): Verdict => ({ status: "False", reason, message });

const hasEndpoint = ({ endpoints, ports }: EndpointSlice, portName: string): boolean =>
  endpoints.some(({ conditions }) => conditions?.ready !== false) &&
  (ports ?? []).some((port) => (port.name ?? "") === portName && port.port !== undefined);

type Status = APIService["status"];

/** The status with this verdict. Its time changes only with its status. */
export function withVerdict({ conditions = [] }: Status, verdict: Verdict, now: string): Status {
  const old = findCondition(conditions, "Available");
  const lastTransitionTime = old?.status === verdict.status ? (old.lastTransitionTime ?? now) : now;
  const condition = { type: "Available", ...verdict, lastTransitionTime };
  return { conditions: old ? conditions.map((one) => (one === old ? condition : one)) : [...conditions, condition] };
}
