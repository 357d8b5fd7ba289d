import type { Pod } from "#api/core/pod.ts";
import { labels } from "#kubelet/config/runtime-labels.ts";
import type { Container, ContainerStatus } from "#kubelet/runtime/runtime.ts";
import { SparseMap } from "#lib/data/sparse-map.ts";
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

/** What a restarted kubelet finds in the runtime for a pod. */
export interface FoundPod extends PodState {
  /** Sandboxes that were replaced by the newest. */
  readonly oldSandboxes: readonly string[];
}

export interface RecordDeps
  extends Pick<PodDeps, "runtime" | "host" | "clock" | "claimContainer" | "disclaimContainer"> {
  pod(): Pod;
  /** Called when a container has ended. */
  ended(id: string): void;
}

/** What we know about one pod's sandboxes and containers, and how we learn it. */
export class PodRecords {
  readonly #deps: RecordDeps;
  readonly #oldSandboxes: string[];
  readonly #looks = new SparseMap<string, Promise<void>>();
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

  /** Changes a record, if it still exists. */
  change(id: string, parts: Partial<ContainerRecord>): void {
    const record = this.get(id);
    if (record) this.put({ ...record, ...parts });
  }

  /** Marks a container as running, unless we already know that it has ended. */
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

  /** Reads the state of a sandbox or container from the runtime. Concurrent callers share the answer. */
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

  /** The ids for which a full listing of the runtime disagrees with the records. */
  differences(containers: ReadonlyMap<string, Container>, readySandboxes: ReadonlySet<string>): string[] {
    const { sandbox } = this.#state;
    const changed = this.#state.containers.filter((record) => {
      const now = containers.get(record.id)?.state;
      return !isEnded(record) && now !== record.state;
    });
    const lost = sandbox?.isReady && !readySandboxes.has(sandbox.id) ? [sandbox.id] : [];
    return [...lost, ...changed.map(({ id }) => id)];
  }

  /** Forgets a container that no longer exists. */
  drop(id: string): void {
    this.#state = withoutContainer(this.#state, id);
    this.#deps.disclaimContainer(id);
  }

  /** After a failed start: the container may run all the same. */
  async lookAfterStart(id: string): Promise<void> {
    const status = await this.#deps.runtime.containerStatus(id);
    await this.#learn(id, status, "created");
  }

  /** Ignores all further events of the runtime. */
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
    // The records know better than the runtime about a container that is about to start.
    await this.#learn(id, await this.#deps.runtime.containerStatus(id), "running");
  }

  /** Records the runtime's answer. That a container runs is accepted only from the expected state. */
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
