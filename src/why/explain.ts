import { type Explanation } from "./explanation.ts";
import { type Facts, type ObjectFacts } from "./facts.ts";
import { explainAbsent } from "./pod/absent.ts";
import { explainEndingObject } from "./pod/ending.ts";
import { explainPod } from "./pod/explain-pod.ts";
import { explainNode } from "./pod/lost-node.ts";
import { explainService } from "./traffic.ts";
import { explainWorkload } from "./workload.ts";

/** Where the object is stuck and why. Pure: the same facts give the same answer. */
export function explain(facts: Facts): Explanation {
  switch (facts.about) {
    case "pod":
      return explainPod(facts);
    case "workload":
      return explainWorkload(facts);
    case "service":
      return explainService(facts, explainPod);
    case "node":
      return explainNode(facts);
    case "object":
      return explainEndingObject(facts) ?? there(facts);
    case "absent":
      return explainAbsent(facts);
  }
}

const there = ({ resource, object }: ObjectFacts): Explanation => ({
  hop: undefined,
  state: "Exists",
  headline: `${resource.kind} ${object.metadata.name} exists, and nothing about it seems stuck.`,
  evidence: [],
  advice: [],
});
