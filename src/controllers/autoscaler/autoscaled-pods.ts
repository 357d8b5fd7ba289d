import { type Pod } from "#api/core/pod.ts";
import { parseLabelSelector, type Requirement } from "#api/meta/label-selector.ts";
import { labelMatcher } from "#api/meta/selector-matchers.ts";
import { Slice } from "#lib/async/turns.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { type Informer } from "#runtime/informer.ts";
import { demandsValue, listByLabels } from "#runtime/list-by-labels.ts";

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

interface Selector {
  readonly text: string;
  readonly requirements: readonly Requirement[];
  readonly matches: Matches;
}

/** What the autoscalers of a namespace selected the last time. */
interface Selectors {
  readonly byName: Map<string, Selector>;
  /**
   * The names by one label that the selected pods must have, such as `app=web`, or by "" if there is no such label. Each
   * autoscaler asks for the others of its pods, so a look at all of them would take a square of their number.
   */
  readonly byLabel: Map<string, Set<string>>;
}

/** The pods of each autoscaler. Two autoscalers for the same pods would fight, so neither gets them. */
export class AutoscaledPods {
  readonly #pods: Informer<Pod>;
  /** By namespace. */
  readonly #selectors = new Map<string, Selectors>();

  constructor(pods: Informer<Pod>) {
    this.#pods = pods;
  }

  async select(ref: Ref, selector: string): Promise<SelectedPods | { readonly fault: SelectionFault }> {
    if (selector === "") {
      const message = "the HPA target's scale is missing a selector";
      return { fault: { reason: "InvalidSelector", message, event: "SelectorRequired", text: "selector is required" } };
    }
    let known: Selector;
    try {
      known = this.#read(ref, selector);
    } catch (error) {
      const text = `couldn't convert selector into a corresponding internal selector object: ${messageOf(error)}`;
      return { fault: { reason: "InvalidSelector", message: text, event: "InvalidSelector", text } };
    }
    const { namespace } = ref;
    const pods = listByLabels(this.#pods, namespace, known.requirements).filter(known.matches);
    const others = await this.#others(ref, pods);
    if (others.length === 0) return { selector, pods };
    const names = [ref.name, ...others].sort().map((name) => `{${name} ${namespace}}`);
    const text = `pods by selector ${selector} are controlled by multiple HPAs: [${names.join(" ")}]`;
    return { fault: { reason: "AmbiguousSelector", message: text, event: "AmbiguousSelector", text } };
  }

  forget({ namespace, name }: Ref): void {
    const { byName, byLabel } = this.#selectors.get(namespace) ?? {};
    const known = byName?.get(name);
    if (!known) return;
    const label = demandedLabel(known);
    byName?.delete(name);
    byLabel?.get(label)?.delete(name);
    if (byLabel?.get(label)?.size === 0) byLabel.delete(label);
    if (byName?.size === 0) this.#selectors.delete(namespace);
  }

  /** It is the same text every time, for as long as nobody changes the target. */
  #read(ref: Ref, text: string): Selector {
    const { namespace, name } = ref;
    const known = this.#selectors.get(namespace)?.byName.get(name);
    if (known?.text === text) return known;
    const requirements = parseLabelSelector(text);
    const matcher = labelMatcher(requirements);
    const selector = { text, requirements, matches: ({ metadata }: Pod) => matcher(metadata.labels ?? {}) };
    this.forget(ref);
    const ofNamespace = this.#selectors.get(namespace) ?? { byName: new Map(), byLabel: new Map() };
    this.#selectors.set(namespace, ofNamespace);
    ofNamespace.byName.set(name, selector);
    const label = demandedLabel(selector);
    const names = ofNamespace.byLabel.get(label) ?? new Set();
    ofNamespace.byLabel.set(label, names.add(name));
    return selector;
  }

  /** The other autoscalers of one of the pods. There may be many of both. */
  async #others({ namespace, name }: Ref, pods: readonly Pod[]): Promise<string[]> {
    const found: string[] = [];
    const slice = new Slice();
    const { byName, byLabel } = this.#selectors.get(namespace) ?? {};
    // Pods of one target have almost the same labels.
    const labels = new Set([""]);
    for (const pod of pods) {
      if (slice.isOver) await slice.rest();
      for (const label of labelsOf(pod)) labels.add(label);
    }
    const candidates = new Set<string>();
    for (const label of labels) {
      if (slice.isOver) await slice.rest();
      for (const other of byLabel?.get(label) ?? []) candidates.add(other);
    }
    for (const other of candidates) {
      if (slice.isOver) await slice.rest();
      const matches = byName?.get(other)?.matches;
      if (other !== name && matches && pods.some(matches)) found.push(other);
    }
    return found.slice(0, maxNamed);
  }
}

const labelsOf = ({ metadata: { labels = {} } }: Pod): string[] =>
  Object.entries(labels).map(([key, value]) => labelText(key, value));

/** A key cannot contain an equals sign. */
const labelText = (key: string, value: string): string => `${key}=${value}`;

function demandedLabel({ requirements }: Selector): string {
  const demanded = requirements.find(demandsValue);
  return demanded ? labelText(demanded.key, demanded.values[0] ?? "") : "";
}

/** More would not make the message clearer. */
const maxNamed = 10;
