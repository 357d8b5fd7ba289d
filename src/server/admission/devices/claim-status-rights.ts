import {
  AllocatedDeviceStatus,
  type AllocationResult,
  deviceKey,
  ResourceClaimStatus,
} from "#api/devices/claim-status.ts";
import { ResourceClaim } from "#api/devices/resource-claim.ts";
import { type UserInfo } from "#api/exchange.ts";
import { semanticEqual } from "#api/meta/equal.ts";
import { invalid } from "#api/status.ts";
import { type FieldError, forbiddenValue, root } from "#schema/field-error.ts";
import { isAbout, objectOf, oldObjectOf } from "#server/admission/object-of.ts";
import { type AdmissionPlugin, type AdmissionRequest } from "#server/admission/plugin.ts";
import { type Authorizer } from "#server/authorize/authorizer.ts";
import { decide } from "#server/authorize/chain.ts";
import { forbiddenRequest } from "#server/authorize/forbidden.ts";
import { type RequestInfo } from "#server/request/pipeline.ts";
import { blankRequestInfo } from "#server/request/request-info.ts";

interface Deps {
  readonly authorizers: readonly Authorizer[];
}

/**
 * The right to write the status of claims is not enough. To allocate or reserve devices, one must also be allowed to bind
 * claims. To report on devices, one must also be allowed to act for their driver.
 */
export const claimStatusRights = (deps: Deps): AdmissionPlugin => ({
  name: "ClaimStatusRights",
  runs: "always",
  appliesTo: (request) => request.subresource === "status" && isAbout(ResourceClaim, request),

  async validate(request) {
    const status = objectOf(ResourceClaim, request)?.status;
    const old = oldObjectOf(ResourceClaim, request)?.status;
    if (!status || !old) return;
    const faults = await bindingFaults(deps, request, { status, old });
    // Without an allocation, no device has a status.
    if (status.allocation) faults.push(...(await driverFaults(deps, request, { status, old })));
    if (faults.length > 0) throw invalid(request.resource, request.name, faults);
  },
});

interface Change {
  readonly status: ResourceClaimStatus;
  readonly old: ResourceClaimStatus;
}

async function bindingFaults(deps: Deps, request: AdmissionRequest, { status, old }: Change): Promise<FieldError[]> {
  const bound = ({ allocation, reservedFor }: ResourceClaimStatus): object => ({ allocation, reservedFor });
  if (semanticEqual(ResourceClaimStatus, bound(status), bound(old))) return [];
  const { verb } = request;
  const refusal = await refusalOf(deps, request.user, { verb, subresource: "binding" });
  if (!refusal) return [];
  const why = `changing status.allocation or status.reservedFor requires resource="resourceclaims/binding", verb="${verb}" permission: ${refusal}`;
  return [forbiddenValue(root.child("status", "allocation"), why)];
}

async function driverFaults(deps: Deps, request: AdmissionRequest, change: Change): Promise<FieldError[]> {
  const { user, verb, namespace } = request;
  const isOwnNode = isOnNode(user, nodeOf(change.status.allocation));
  const verbs = isOwnNode ? [`associated-node:${verb}`, `arbitrary-node:${verb}`] : [`arbitrary-node:${verb}`];
  const faults: FieldError[] = [];
  for (const name of [...changedDrivers(change)].sort()) {
    const refusals: string[] = [];
    for (const verb of verbs) {
      const refusal = await refusalOf(deps, user, { verb, subresource: "driver", namespace, name });
      if (!refusal) break;
      refusals.push(refusal);
    }
    if (refusals.length < verbs.length) continue;
    const why = `changing status.devices requires resource="resourceclaims/driver", verb="[${verbs.join(" ")}]" permission: ${refusals[0]}`;
    faults.push(forbiddenValue(root.child("status", "devices"), why));
  }
  return faults;
}

/** Drivers of devices whose status was added, changed or removed. */
function changedDrivers({ status, old }: Change): Set<string> {
  const before = new Map(old.devices?.map((device) => [deviceKey(device), device]));
  const drivers = new Set<string>();
  for (const device of status.devices ?? []) {
    const key = deviceKey(device);
    if (!semanticEqual(AllocatedDeviceStatus, device, before.get(key))) drivers.add(device.driver);
    before.delete(key);
  }
  for (const { driver } of before.values()) drivers.add(driver);
  return drivers;
}

/** The node of an allocation that is usable on one node only. */
function nodeOf(allocation: AllocationResult | undefined): string | undefined {
  const [term, ...otherTerms] = allocation?.nodeSelector?.nodeSelectorTerms ?? [];
  const [field, ...otherFields] = term?.matchFields ?? [];
  if (otherTerms.length + otherFields.length + (term?.matchExpressions?.length ?? 0) > 0) return undefined;
  const [name, ...otherNames] = field?.values ?? [];
  return field?.key === "metadata.name" && field.operator === "In" && otherNames.length === 0 ? name : undefined;
}

/** Whether the user is a service account whose token belongs to a pod on this node. */
function isOnNode({ name, extra }: UserInfo, node: string | undefined): boolean {
  const [tokenNode, ...others] = extra?.["authentication.kubernetes.io/node-name"] ?? [];
  return Boolean(node) && tokenNode === node && others.length === 0 && /^system:serviceaccount:[^:]+:[^:]+$/.test(name);
}

/** The text of the refusal if the user may not do this to claims. */
async function refusalOf(
  { authorizers }: Deps,
  user: UserInfo,
  what: Partial<RequestInfo>,
): Promise<string | undefined> {
  const { group, version } = ResourceClaim;
  const info = { ...blankRequestInfo, isResource: true, group, version, resource: ResourceClaim.plural, ...what };
  const { verdict, reason } = await decide(authorizers, user, info);
  return verdict === "allow" ? undefined : forbiddenRequest(user, info, reason).message;
}
