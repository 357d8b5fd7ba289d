import type { ExecResult } from "#kubelet/runtime/runtime.ts";

/** The end of a container that has not ended. */
export const never = { startedAt: 0, finishedAt: 0, exitCode: 0, reason: "", message: "" } as const;
export const noUsage = {
  cpuNanoSeconds: 0,
  memoryWorkingSetBytes: 0,
  memoryUsageBytes: 0,
  memoryRssBytes: 0,
  pageFaults: 0,
  majorPageFaults: 0,
  writableLayerBytes: 0,
  writableLayerInodes: 0,
};
export const succeeded: ExecResult = { stdout: new Uint8Array(0), stderr: new Uint8Array(0), exitCode: 0 };
/** A call without a user. */
export const noInput = {
  tty: false,
  stdin: { async *[Symbol.asyncIterator]() {} },
  async write() {},
};
