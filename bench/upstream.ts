/** What upstream v1.36.4 needs on the same kind of machine (2 cores, etcd, RBAC, TLS), and the limits that we set ourselves. */
export interface Goal {
  readonly perSecond: number;
  readonly cpuMs: number;
}

export const upstream: Readonly<Record<string, Goal>> = {
  create: { perSecond: 565, cpuMs: 2.7 },
  get: { perSecond: 1980, cpuMs: 0.74 },
  list: { perSecond: 5.3, cpuMs: 284 },
  churn: { perSecond: 424, cpuMs: 3.4 },
  watch: { perSecond: 60_000, cpuMs: 0.022 },
  // With its clients' limits raised to 5,000 requests per second; with the defaults it is four to six times slower.
  schedule: { perSecond: 210, cpuMs: 8.8 },
  deploy: { perSecond: 131, cpuMs: 14.6 },
};

export const limits: Readonly<Record<string, Goal>> = {
  create: { perSecond: 2260, cpuMs: 0.5 },
  get: { perSecond: 7920, cpuMs: 0.12 },
  list: { perSecond: 21.2, cpuMs: 15 },
  churn: { perSecond: 1700, cpuMs: 0.6 },
  watch: { perSecond: 120_000, cpuMs: 0.008 },
};

/** `limit` is ours. Upstream's figures cover its API server, etcd, controller manager and scheduler where they are known. */
export const sizes = {
  emptyMs: { upstream: 2700, limit: 500 },
  filledMs: { upstream: undefined, limit: 2000 },
  residentAfterBootMiB: { upstream: 480, limit: 120 },
  residentWithPodsMiB: { upstream: 700, limit: 300 },
  idlePercent: { upstream: 3.4, limit: 0.5 },
} as const;
