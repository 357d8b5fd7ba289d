import { type Pod } from "#api/core/pod.ts";
import { parseLabelSelector, type Requirement } from "#api/meta/label-selector.ts";
import { labelMatcher } from "#api/meta/selector-matchers.ts";
import { Slice } from "#lib/async/turns.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { type Informer } from "#runtime/informer.ts";
import { listByLabels } from "#runtime/list-by-labels.ts";

export interface SelectedPods {
  /** As text. */
  readonly selector: string;
  readonly pods: readonly Pod[];
}

/** Why an autoscaler has no pods to look at, in upstream's words. */
export interface SelectionFault {
  /** Of the condition. */
  readonly reason: string;
  readonly message: string;
  /** The reason of the event. */
  readonly event: string;
  readonly text: string;
}

interface Ref {
  readonly namespace: string;
  readonly name: string;
}
type Matches = (pod: Pod) => boolean;

/** The pods of each autoscaler. Two autoscalers for the same pods would fight, so neither gets them. */
export class AutoscaledPods {
  readonly #pods: Informer<Pod>;
  /** By namespace and name: what each autoscaler selected the last time. */
  readonly #selectors = new Map<string, Map<string, Matches>>();

  constructor(pods: Informer<Pod>) {
    this.#pods = pods;
  }

  async select(ref: Ref, selector: string): Promise<SelectedPods | { readonly fault: SelectionFault }> {
    if (selector === "") {
      const message = "the HPA target's scale is missing a selector";
      return { fault: { reason: "InvalidSelector", message, event: "SelectorRequired", text: "selector is required" } };
    }
    let requirements: readonly Requirement[];
    try {
      requirements = parseLabelSelector(selector);
    } catch (error) {
      const text = `couldn't convert selector into a corresponding internal selector object: ${messageOf(error)}`;
      return { fault: { reason: "InvalidSelector", message: text, event: "InvalidSelector", text } };
    }
    const matcher = labelMatcher(requirements);
    const matches: Matches = ({ metadata }) => matcher(metadata.labels ?? {});
    this.#remember(ref, matches);
    const { namespace } = ref;
    const pods = listByLabels(this.#pods, namespace, requirements).filter(matches);
    const others = await this.#others(ref, pods);
    if (others.length === 0) return { selector, pods };
    const names = [ref.name, ...others].sort().map((name) => `{${name} ${namespace}}`);
    const text = `pods by selector ${selector} are controlled by multiple HPAs: [${names.join(" ")}]`;
    return { fault: { reason: "AmbiguousSelector", message: text, event: "AmbiguousSelector", text } };
  }

  forget({ namespace, name }: Ref): void {
    const ofNamespace = this.#selectors.get(namespace);
    ofNamespace?.delete(name);
    if (ofNamespace?.size === 0) this.#selectors.delete(namespace);
  }

  #remember({ namespace, name }: Ref, matches: Matches): void {
    const ofNamespace = this.#selectors.get(namespace) ?? new Map<string, Matches>();
    this.#selectors.set(namespace, ofNamespace.set(name, matches));
  }

  /** The other autoscalers of one of the pods. There may be many of both. */
  async #others({ namespace, name }: Ref, pods: readonly Pod[]): Promise<string[]> {
    const found: string[] = [];
    const slice = new Slice();
    for (const [other, matches] of [...(this.#selectors.get(namespace) ?? [])]) {
      if (slice.isOver) await slice.rest();
      if (other !== name && pods.some(matches)) found.push(other);
    }
    return found.slice(0, maxNamed);
  }
}

/** More would not make the message clearer. */
const maxNamed = 10;
