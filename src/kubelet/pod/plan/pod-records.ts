import type { Pod } from "#api/core/pod.ts";
import { labels } from "#kubelet/config/runtime-labels.ts";
import type { Container, ContainerStatus } from "#kubelet/runtime/runtime.ts";
import type { PodDeps } from "../pod-deps.ts";
import {
  type ContainerRecord,
  containerNamed,
  isEnded,
  isUp,
  lostRecord,
  newestOf,
  type PodState,
  type SandboxRecord,
  updatedRecord,
  withContainer,
  withoutContainer,
} from "./pod-state.ts";

/** What a restarted kubelet finds of a pod in the runtime. */
export interface FoundPod extends PodState {
  /** Sandboxes that were replaced by the newest. */
  readonly oldSandboxes: readonly string[];
}

export interface RecordDeps
  extends Pick<PodDeps, "runtime" | "host" | "clock" | "claimContainer" | "disclaimContainer"> {
  pod(): Pod;
  /** A container has ended. */
  ended(id: string): void;
}

/** What we know of one pod's sandboxes and containers, and how we come to know it. */
export class PodRecords {
  readonly #deps: RecordDeps;
  readonly #oldSandboxes: string[];
  readonly #looks = new Map<string, Promise<void>>();
  #state: PodState;

  constructor(deps: RecordDeps, found: FoundPod | undefined) {
    this.#deps = deps;
    this.#state = { sandbox: found?.sandbox, containers: found?.containers ?? [] };
    this.#oldSandboxes = [...(found?.oldSandboxes ?? [])];
    const uid = deps.pod().metadata.uid;
    for (const id of this.#allIds()) deps.claimContainer(id, uid);
  }

  get state(): PodState {
    return this.#state;
  }
  get sandboxIds(): string[] {
    return [...this.#oldSandboxes, ...(this.#state.sandbox ? [this.#state.sandbox.id] : [])];
  }
  get running(): ContainerRecord[] {
    return this.#state.containers.filter(isUp);
  }
  get = (id: string): ContainerRecord | undefined => this.#state.containers.find((record) => record.id === id);
  newest = (name: string): ContainerRecord | undefined => newestOf(this.#state.containers, name);

  put(record: ContainerRecord): void {
    this.#state = withContainer(this.#state, record);
  }

  /** Changes a record, if it is still there. */
  change(id: string, parts: Partial<ContainerRecord>): void {
    const record = this.get(id);
    if (record) this.put({ ...record, ...parts });
  }

  /** A container that was started runs, unless we heard already that it ended. */
  started(id: string, now: number): void {
    if (this.get(id)?.state === "created") this.change(id, { state: "running", startedAt: now });
  }

  putSandbox(sandbox: SandboxRecord): void {
    const before = this.#state.sandbox;
    if (before && before.id !== sandbox.id) this.#oldSandboxes.push(before.id);
    this.#state = { ...this.#state, sandbox };
  }

  sandboxLost(id: string): void {
    const { sandbox } = this.#state;
    if (sandbox?.id === id) this.#state = { ...this.#state, sandbox: { ...sandbox, isReady: false } };
  }

  /** Asks the runtime what became of a sandbox or container; several who ask at once share the answer. */
  look(id: string): Promise<void> {
    let look = this.#looks.get(id);
    if (!look) {
      look = this.#lookOnce(id).finally(() => this.#looks.delete(id));
      this.#looks.set(id, look);
    }
    return look;
  }

  async lookAtAll(): Promise<void> {
    await Promise.all(this.#state.containers.filter((record) => !isEnded(record)).map(({ id }) => this.look(id)));
  }

  /** Which ones a whole listing of the runtime disagrees about. */
  differences(containers: ReadonlyMap<string, Container>, readySandboxes: ReadonlySet<string>): string[] {
    const { sandbox } = this.#state;
    const changed = this.#state.containers.filter((record) => {
      const now = containers.get(record.id)?.state;
      return !isEnded(record) && now !== record.state;
    });
    const lost = sandbox?.isReady && !readySandboxes.has(sandbox.id) ? [sandbox.id] : [];
    return [...lost, ...changed.map(({ id }) => id)];
  }

  /** The container does not exist any more. */
  drop(id: string): void {
    this.#state = withoutContainer(this.#state, id);
    this.#deps.disclaimContainer(id);
  }

  /** After a start that failed: the container may run all the same. */
  async lookAfterStart(id: string): Promise<void> {
    const status = await this.#deps.runtime.containerStatus(id);
    await this.#learn(id, status, "created");
  }

  /** Nothing that happens in the runtime concerns this pod any more. */
  forget(): void {
    for (const id of this.#allIds()) this.#deps.disclaimContainer(id);
  }

  #allIds = (): string[] => [...this.sandboxIds, ...this.#state.containers.map(({ id }) => id)];

  async #lookOnce(id: string): Promise<void> {
    if (this.#state.sandbox?.id === id) {
      const status = await this.#deps.runtime.sandboxStatus(id);
      if (status?.state !== "ready") this.sandboxLost(id);
      return;
    }
    const before = this.get(id);
    if (!before || before.state === "exited") return;
    // A container that we are about to start is better known to us than to the runtime.
    await this.#learn(id, await this.#deps.runtime.containerStatus(id), "running");
  }

  /** Takes in what the runtime says; that a container runs is news only for one that is expected to be in this state. */
  async #learn(id: string, status: ContainerStatus | undefined, expected: "created" | "running"): Promise<void> {
    const record = this.get(id);
    if (!record || record.state === "exited") return;
    if (!status) this.#end(lostRecord(record, this.#deps.clock.now()));
    else if (status.state === "exited") this.#end(await this.#endedRecord(record, status));
    else if (record.state !== "created" || expected === "created") this.put(updatedRecord(record, status));
  }

  #end(record: ContainerRecord): void {
    if (!this.get(record.id)) return;
    this.put(record);
    this.#deps.ended(record.id);
  }

  async #endedRecord(record: ContainerRecord, status: ContainerStatus): Promise<ContainerRecord> {
    const ended = updatedRecord(record, status);
    const policy = containerNamed(this.#deps.pod(), record.name)?.terminationMessagePolicy;
    const fallsBack = policy === "FallbackToLogsOnError" && ended.exitCode !== 0;
    const left = await this.#deps.host.readTerminationMessage({
      file: status.annotations[labels.terminationMessageFile],
      logPath: fallsBack ? ended.logPath : undefined,
    });
    return { ...ended, message: [ended.message, left].filter((part) => part !== "").join(": ") };
  }
}
