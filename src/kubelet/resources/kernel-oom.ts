/**
 * Finds in the kernel's log that the machine ran out of memory. A record is `6,1234,98765,-;text`: priority, number, and
 * microseconds since the start. Two records belong together:
 *
 *   oom-kill:constraint=CONSTRAINT_NONE,…,global_oom,task_memcg=/…,task=java,pid=71,uid=0
 *   Out of memory: Killed process 71 (java) …
 */
export class KernelOoms {
  readonly #sinceUs: number;

  constructor(sinceUs: number) {
    this.#sinceUs = sinceUs;
  }

  /** The messages of events for one record: none if a pod or another group only reached its own limit. */
  read(record: string): string[] {
    const [, atUs = "0", text = ""] = /^\d+,\d+,(\d+)[^;]*;([^\n]*)/.exec(record) ?? [];
    if (Number(atUs) < this.#sinceUs || !text.startsWith("oom-kill:")) return [];
    const isOfMachine = /,global_oom,/.test(text) || /,task_memcg=\/,/.test(text);
    if (!isOfMachine) return [];
    // The name of a process may contain anything, so what follows it is matched from the end.
    const [, name, pid] = /,task=(.*),pid=(\d+),uid=\d+$/.exec(text) ?? [];
    const victim = name === undefined ? "" : `, victim process: ${name.slice(0, 64)}, pid: ${pid}`;
    return [`System OOM encountered${victim}`];
  }
}
