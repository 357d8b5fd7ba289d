import { Pod } from "#api/core/pod.ts";
import { type TestCluster } from "../start-cluster.ts";

/** The metrics of nodes on which the running pods of a namespace share a load, in thousandths of a core. */
export class SharedLoad {
  cluster: TestCluster | undefined;
  readonly #millis = new Map<string, number>();
  readonly #seconds = new Map<string, number>();
  readonly #readAtMs = new Map<string, number>();

  set(namespace: string, millis: number): void {
    this.#millis.set(namespace, millis);
  }

  metrics(node: string): string {
    const { cluster } = this;
    if (!cluster) return "";
    const nowMs = cluster.clock.now();
    const seconds = (nowMs - (this.#readAtMs.get(node) ?? nowMs)) / 1000;
    this.#readAtMs.set(node, nowMs);
    return [...this.#millis]
      .map(([namespace, millis]) => this.#lines(cluster, { namespace, node, cores: millis / 1000, seconds }))
      .join("");
  }

  #lines(
    { informers, clock }: TestCluster,
    { namespace, node, cores, seconds }: { namespace: string; node: string; cores: number; seconds: number },
  ): string {
    const pods = informers.of(Pod).list(namespace);
    const running = pods.filter(({ status }) => status.phase === "Running");
    const used = (cores / Math.max(1, running.length)) * seconds;
    return running
      .filter(({ spec }) => spec.nodeName === node)
      .map((pod) => this.#linesOf(pod, used, clock.now()))
      .join("");
  }

  #linesOf({ metadata, status }: Pod, used: number, nowMs: number): string {
    const seconds = (this.#seconds.get(metadata.uid) ?? 0) + used;
    this.#seconds.set(metadata.uid, seconds);
    const place = `{container="main",namespace="${metadata.namespace}",pod="${metadata.name}"}`;
    return `container_cpu_usage_seconds_total${place} ${seconds} ${nowMs}
container_memory_working_set_bytes${place} 1 ${nowMs}
container_start_time_seconds${place} ${Date.parse(status.startTime ?? "") / 1000}
`;
  }
}
