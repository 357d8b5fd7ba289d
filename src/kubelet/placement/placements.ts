import { readFile } from "node:fs/promises";
import type { Container } from "#api/core/container/container.ts";
import type { Pod } from "#api/core/pod.ts";
import { Semaphore } from "#lib/async/semaphore.ts";
import { renderCpuSet } from "#lib/data/cpu-set.ts";
import { replaceFile } from "#lib/fs/replace-file.ts";
import { errorCode } from "#lib/text/error-code.ts";
import { messageOf } from "#lib/text/message-of.ts";
import type { PlacementRules } from "./create-rules.ts";
import type { Hint, Merged } from "./merge-hints.ts";
import { coreRejection, cpuHints, ownCpus, ownCpusOfPod, placeCpus, type Refusal, sharedCpus } from "./place-cpus.ts";
import { memoryHints, ownMemory, ownMemoryOfPod, placeMemory } from "./place-memory.ts";
import { isPassedOn, mayBePlaced, type Placement } from "./placement.ts";

/** A pod that cannot have what it asks for, with the reason for its status. */
export class PlacementError extends Error {
  override readonly name = "PlacementError";
  readonly reason: string;

  constructor({ reason, message }: Refusal) {
    super(message);
    this.reason = reason;
  }
}

/** Where a container runs; an absent field means anywhere. */
export interface ContainerPlace {
  readonly cpusetCpus?: string;
  readonly cpusetMems?: string;
  readonly hasOwnCpus: boolean;
}

interface Stored {
  /** The policies under which this was written. */
  readonly policies: string;
  readonly placements: readonly Placement[];
}

/** Which container has which processors and memory for itself, in a file that survives a restart. */
export class Placements {
  readonly rules: PlacementRules;
  readonly #file: string;
  /** Pods are admitted, started and forgotten at the same time, and all of that is saved. */
  readonly #saving = new Semaphore(1);
  #placements: readonly Placement[];

  private constructor(file: string, rules: PlacementRules, placements: readonly Placement[]) {
    this.#file = file;
    this.rules = rules;
    this.#placements = placements;
  }

  /** Fails if the file cannot be read, or was written under other policies and is in use. */
  static async open(file: string, rules: PlacementRules): Promise<Placements> {
    const { policies, placements } = await readStored(file);
    if (placements.length > 0 && policies !== policiesOf(rules)) {
      throw new Error(
        `the policies of processors and memory have changed from ${policies} to ${policiesOf(rules)}, but pods still have some for themselves: drain the node, or delete ${file} when they are gone`,
      );
    }
    return new Placements(file, rules, placements.filter(isPossible(rules)));
  }

  get all(): readonly Placement[] {
    return this.#placements;
  }

  /** Whether something of the pod may have to be placed. */
  wants(pod: Pod): boolean {
    return mayBePlaced(pod);
  }

  /** Whether the container should have something for itself, and has not got it. */
  lacks(pod: Pod, container: Container): boolean {
    const { cpus, memory } = this.rules;
    const mayHave = (cpus && ownCpus(pod, container) > 0) || (memory && ownMemory(pod, container));
    return Boolean(mayHave) && this.#of(pod.metadata.uid, container.name) === undefined;
  }

  /** The NUMA nodes from which each resource of a container can come, or of the pod without one. */
  hints({ pod, container }: { readonly pod: Pod; readonly container?: Container }): Hint[][] {
    const { uid } = pod.metadata;
    const others = this.#placements;
    const { cpus, memory } = this.rules;
    const count = container ? ownCpus(pod, container) : ownCpusOfPod(pod);
    const wanted = container ? ownMemory(pod, container) : ownMemoryOfPod(pod);
    const found = [
      ...(cpus && count > 0 ? [cpuHints(cpus, others, uid, count)] : []),
      ...(memory && wanted ? Object.keys(wanted).map(() => memoryHints(memory, others, uid, wanted)) : []),
    ];
    // If no set of nodes has enough, the only hint is one that is not preferred. Strict policies then refuse the pod.
    return found.map((some) => (some.length > 0 ? some : [{ mask: undefined, isPreferred: false }]));
  }

  /** Gives a container what it needs, if it has not got it yet. Throws if the node cannot. */
  place(pod: Pod, container: Container, { mask, isPreferred: mustBePreferred }: Pick<Merged, "mask" | "isPreferred">) {
    const { uid: podUid } = pod.metadata;
    if (this.#of(podUid, container.name)) return;
    const { cpus: cpuRules, memory: memoryRules } = this.rules;
    const count = cpuRules ? ownCpus(pod, container) : 0;
    const refused = cpuRules && coreRejection(cpuRules, this.#placements, count);
    if (refused) throw new PlacementError(refused);
    const wanted = memoryRules && ownMemory(pod, container);
    const cpus = cpuRules && count > 0 ? placeCpus(cpuRules, this.#placements, { podUid, count, mask }) : [];
    const request = { podUid, wanted: wanted ?? {}, mask, mustBePreferred };
    const memory = memoryRules && wanted ? placeMemory(memoryRules, this.#placements, request) : undefined;
    if (cpus.length === 0 && !memory) return;
    const placement = { podUid, container: container.name, isPassedOn: isPassedOn(pod, container), cpus, memory };
    this.#placements = [...this.#placements, placement];
  }

  /** Where a container runs now. What it shares with others changes with them. */
  placeOf(podUid: string, container: string): ContainerPlace {
    const { cpus: rules } = this.rules;
    const own = this.#of(podUid, container);
    const cpus = own && own.cpus.length > 0 ? own.cpus : rules && sharedCpus(rules, this.#placements);
    return {
      ...(cpus && cpus.length > 0 ? { cpusetCpus: renderCpuSet(cpus) } : {}),
      ...(own?.memory ? { cpusetMems: renderCpuSet(own.memory.nodes) } : {}),
      hasOwnCpus: (own?.cpus.length ?? 0) > 0,
    };
  }

  hasOwnCpus(podUid: string): boolean {
    return this.#placements.some((one) => one.podUid === podUid && one.cpus.length > 0);
  }

  /** Takes back what all other pods have. Returns whether they had anything. */
  keepOnly(podUids: ReadonlySet<string>): boolean {
    const kept = this.#placements.filter(({ podUid }) => podUids.has(podUid));
    if (kept.length === this.#placements.length) return false;
    this.#placements = kept;
    return true;
  }

  /** Takes back what a pod has. */
  release(podUid: string): void {
    this.#placements = this.#placements.filter((one) => one.podUid !== podUid);
  }

  async save(): Promise<void> {
    await this.#saving.take(() => replaceFile(this.#file, JSON.stringify(this.#stored)));
  }

  get #stored(): Stored {
    return { policies: policiesOf(this.rules), placements: this.#placements };
  }

  #of(podUid: string, container: string): Placement | undefined {
    return this.#placements.find((one) => one.podUid === podUid && one.container === container);
  }
}

const policiesOf = ({ cpus, memory }: PlacementRules): string =>
  `${cpus ? "static" : "none"} and ${memory ? "Static" : "None"}`;

/** A machine may have lost processors since. Then the containers get others when they start again. */
const isPossible =
  ({ cpus, memory }: PlacementRules) =>
  (placement: Placement): boolean =>
    placement.cpus.every((id) => cpus?.cpus.some((cpu) => cpu.id === id) && !cpus.reserved.has(id)) &&
    (placement.memory?.nodes ?? []).every((id) => memory?.nodes.some((node) => node.id === id));

async function readStored(file: string): Promise<Stored> {
  try {
    return JSON.parse(await readFile(file, "utf8"));
  } catch (error) {
    if (errorCode(error) === "ENOENT") return { policies: "", placements: [] };
    throw new Error(`cannot read which pods have processors for themselves: ${messageOf(error)}`, { cause: error });
  }
}
