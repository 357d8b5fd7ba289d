import { ResourceQuota } from "#api/core/resource-quota.ts";
import { ResourceClaim } from "#api/devices/resource-claim.ts";
import { type MeasuredWrite } from "#api/quota/evaluator.ts";
import { evaluatorOf, influencing, isLimitable } from "#api/quota/evaluators.ts";
import { type Clock } from "#lib/async/clock.ts";
import { type Informers } from "#runtime/informer.ts";
import { objectOf } from "../object-of.ts";
import { type AdmissionPlugin, type AdmissionRequest } from "../plugin.ts";
import { refusal } from "../refuse.ts";
import { ChargeQueue, type ChargeQueueDeps } from "./charge-queue.ts";
import { ClaimsInFlight } from "./claims-in-flight.ts";
import { chargedWrite, isLimiting, planCharge, runningQuota } from "./plan-charge.ts";

export interface ResourceQuotaDeps {
  readonly informers: Informers;
  readonly clock: Clock;
  readonly storeQuota: ChargeQueueDeps["store"];
}

/**
 * Refuses what would exceed a quota of its namespace, and charges the rest to `status.used` before it is written. Must
 * be the last plugin, because what is refused after it has to be given back.
 */
export function resourceQuota({ informers, clock, storeQuota }: ResourceQuotaDeps): AdmissionPlugin {
  const quotas = informers.of(ResourceQuota);
  // They are complete before the server takes requests.
  for (const resource of influencing) informers.of(resource);
  const queue = new ChargeQueue({ quotas, store: storeQuota });
  const inFlight = new ClaimsInFlight({ informers, clock });
  return {
    name: "ResourceQuota",
    appliesTo: ({ operation, resource }) => (operation === "CREATE" || operation === "UPDATE") && isLimitable(resource),

    validate(request) {
      const { namespace, dryRun, operation } = request;
      const found = namespace === "" ? [] : quotas.list(namespace);
      const measured = found.length > 0 ? measuredWrite(request) : undefined;
      const evaluator = evaluatorOf(request.resource);
      if (!measured || !evaluator.isCharged(measured)) return undefined;
      if (!found.some((quota) => isLimiting(quota, evaluator))) return undefined;
      const write = chargedWrite(measured, evaluator, { nowMs: clock.now(), objects: inFlight });
      // A write that takes nothing need not wait for those that do.
      const plan = planCharge(write, found.map(runningQuota));
      if (plan.type === "refuse" && (dryRun || !queue.isBusy(namespace))) throw refusal(request, plan.why);
      if (dryRun) return undefined;
      const claim = operation === "CREATE" ? objectOf(ResourceClaim, request) : undefined;
      const forget = claim && inFlight.add(claim);
      if (forget) request.ifNotWritten(forget);
      if (plan.type === "charge" && plan.charges.length === 0) return undefined;
      return queue
        .charge(namespace, write, (why) => refusal(request, why))
        .then((charges) => request.ifNotWritten(() => queue.giveBack(namespace, charges)));
    },
  };
}

function measuredWrite(request: AdmissionRequest): MeasuredWrite | undefined {
  const { operation, subresource, object, oldObject: old } = request;
  if (!object || (operation !== "CREATE" && operation !== "UPDATE")) return undefined;
  return { operation, subresource, object, old };
}
