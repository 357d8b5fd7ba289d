import { withAdmission } from "./admission.ts";
import { explainBudget, explainQuota } from "./allowances.ts";
import { explainAutoscaler } from "./autoscaler.ts";
import { explainCronJob, explainJob } from "./batch.ts";
import { explainClaim } from "./claim.ts";
import { type Explanation } from "./explanation.ts";
import { type Facts, type ObjectFacts } from "./facts.ts";
import { explainIngress } from "./ingress/explain-ingress.ts";
import { explainApiService } from "./object/api-service.ts";
import { explainCertificateRequest } from "./object/certificate.ts";
import { explainConditions } from "./object/conditions.ts";
import { explainUnreadable } from "./object/unreadable.ts";
import { withEvents } from "./object/warnings.ts";
import { explainAbsent } from "./pod/absent.ts";
import { explainEndingObject } from "./pod/ending.ts";
import { explainPod } from "./pod/explain-pod.ts";
import { explainNode } from "./pod/lost-node.ts";
import { explainService } from "./traffic.ts";
import { explainWorkload } from "./workload.ts";

/** Where the object is stuck and why. Pure: the same facts give the same answer. */
export const explain = (facts: Facts): Explanation => withAdmission(explainObject(facts), facts.admission);

function explainObject(facts: Facts): Explanation {
  switch (facts.about) {
    case "pod":
      return explainPod(facts);
    case "workload":
      return explainWorkload(facts);
    case "job":
      return explainJob(facts);
    case "cronJob":
      return explainCronJob(facts);
    case "service":
      return explainService(facts, explainPod);
    case "ingress":
      return explainIngress(facts, explainPod);
    case "node":
      return explainNode(facts);
    case "quota":
      return explainQuota(facts.quota);
    case "budget":
      return explainBudget(facts.budget);
    case "apiService":
      return explainApiService(facts.apiService);
    case "autoscaler":
      return explainAutoscaler(facts.autoscaler);
    case "certificate":
      return explainCertificateRequest(facts.request);
    case "claim":
      return explainClaim(facts);
    case "object":
      return explainEndingObject(facts) ?? withEvents(explainConditions(facts) ?? there(facts), facts);
    case "unreadable":
      return explainUnreadable(facts);
    case "absent":
      return explainAbsent(facts);
  }
}

/** An object of a kind that has no explanations. Its controller may still fail, and only the trace shows that. */
function there({ resource, object }: ObjectFacts): Explanation {
  const { namespace, name } = object.metadata;
  const target = `${resource.plural}/${name}${namespace ? ` -n ${namespace}` : ""}`;
  return {
    hop: undefined,
    state: "Exists",
    headline: `${resource.kind} ${name} exists and is not being deleted.`,
    evidence: [],
    advice: [
      `There are no further checks for this kind. See what followed its last write: \`orlop trace ${target}\`.`,
      ...(resource.isJsonOnly ? ["What acts on a custom resource is its operator: see also that operator's log."] : []),
    ],
  };
}
