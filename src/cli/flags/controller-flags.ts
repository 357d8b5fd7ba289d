import { type ControllerSettings } from "#cluster/controllers-task.ts";
import { durationMilliseconds, durationSeconds, listOf, trueOrFalse, UserError, wholeNumber } from "../command.ts";

/** Upstream's flags for controllers and leader election, for the commands that start a server. */
export const controllerFlags = {
  controllers: {
    type: "string",
    value: "LIST",
    default: "*",
    help: "controllers to run: * is all of them, NAME turns one on, -NAME turns one off",
  },
  "cluster-signing-duration": {
    type: "string",
    value: "DURATION",
    default: "8760h",
    help: "how long certificates for signing requests are valid at most",
  },
  "legacy-service-account-token-clean-up-period": {
    type: "string",
    value: "DURATION",
    default: "8760h",
    help: "how long a generated token in a Secret may go unused before it is marked, and then deleted",
  },
  "node-monitor-grace-period": {
    type: "string",
    value: "DURATION",
    default: "50s",
    help: "how long a node may be silent before it counts as unknown",
  },
  "node-startup-grace-period": {
    type: "string",
    value: "DURATION",
    default: "1m",
    help: "the same for a node that has never reported",
  },
  "node-eviction-rate": {
    type: "string",
    value: "N",
    default: "0.1",
    help: "how many nodes of a zone begin to lose their pods per second",
  },
  "secondary-node-eviction-rate": {
    type: "string",
    value: "N",
    default: "0.01",
    help: "the same in a large zone of which many nodes are not ready",
  },
  "unhealthy-zone-threshold": {
    type: "string",
    value: "N",
    default: "0.55",
    help: "share of nodes that are not ready from which a zone counts as disrupted",
  },
  "large-cluster-size-threshold": {
    type: "string",
    value: "N",
    default: "50",
    help: "zones with more nodes are large; smaller ones lose no pods while they are disrupted",
  },
  "leader-elect": {
    type: "string",
    value: "BOOL",
    help: "whether controllers and scheduler wait for a lease; by default, only with etcd",
  },
  "leader-elect-lease-duration": {
    type: "string",
    value: "DURATION",
    default: "15s",
    help: "how long others wait for a leader that no longer renews its lease",
  },
  "leader-elect-renew-deadline": {
    type: "string",
    value: "DURATION",
    default: "10s",
    help: "how long a leader tries to renew its lease before it stops leading",
  },
  "leader-elect-retry-period": {
    type: "string",
    value: "DURATION",
    default: "2s",
    help: "pause between two attempts to get or renew a lease",
  },
} as const;

type Texts = { readonly [flag in Exclude<keyof typeof controllerFlags, "leader-elect">]: string };
export type ControllerValues = Texts & { readonly "leader-elect"?: string | undefined };

export function controllerSettings(values: ControllerValues): ControllerSettings {
  return {
    choice: listOf(values.controllers),
    signingDurationMs: signingDurationMs(values),
    legacyTokens: { cleanUpMs: durationSeconds(values[cleanUpFlag], cleanUpFlag) * 1000 },
    nodeLifecycle: nodeLifecycleOf(values),
    election: electionOf(values),
  };
}

function nodeLifecycleOf(values: ControllerValues): NonNullable<ControllerSettings["nodeLifecycle"]> {
  const msOf = (flag: keyof Texts) => durationSeconds(values[flag], flag) * 1000;
  const number = (flag: keyof Texts, max: number) => numberUpTo(values[flag], flag, max);
  return {
    graceMs: msOf("node-monitor-grace-period"),
    startupGraceMs: msOf("node-startup-grace-period"),
    evictionRate: number("node-eviction-rate", 1000),
    secondaryEvictionRate: number("secondary-node-eviction-rate", 1000),
    unhealthyZoneThreshold: number("unhealthy-zone-threshold", 1),
    largeClusterSizeThreshold: wholeNumber(values[largeFlag], largeFlag, { min: 0, max: 1_000_000 }),
  };
}
const largeFlag = "large-cluster-size-threshold";

function numberUpTo(text: string, flag: string, max: number): number {
  const value = text.trim() === "" ? Number.NaN : Number(text);
  if (value >= 0 && value <= max) return value;
  throw new UserError(`--${flag} must be a number from 0 to ${max}, not ${JSON.stringify(text)}`);
}

const cleanUpFlag = "legacy-service-account-token-clean-up-period";

/** Certificates start five minutes early, so a shorter life would hardly be one. */
const minSigningMs = 600_000;

function signingDurationMs(values: ControllerValues): number {
  const flag = "cluster-signing-duration";
  const ms = durationSeconds(values[flag], flag) * 1000;
  if (ms >= minSigningMs) return ms;
  throw new UserError(`--${flag} must be at least 10m, not ${values[flag]}`);
}

/** A leader must have stopped before another one may start. */
const jitter = 1.2;

function electionOf(values: ControllerValues): NonNullable<ControllerSettings["election"]> {
  const msOf = (flag: keyof Texts) => durationMilliseconds(values[flag], flag);
  const leaseDurationMs = msOf("leader-elect-lease-duration");
  const renewDeadlineMs = msOf("leader-elect-renew-deadline");
  const retryPeriodMs = msOf("leader-elect-retry-period");
  if (leaseDurationMs < 1000) throw new UserError("--leader-elect-lease-duration must be at least 1s");
  if (retryPeriodMs < 1) throw new UserError("--leader-elect-retry-period must be greater than 0");
  if (leaseDurationMs <= renewDeadlineMs) {
    throw new UserError("--leader-elect-lease-duration must be greater than --leader-elect-renew-deadline");
  }
  if (renewDeadlineMs <= jitter * retryPeriodMs) {
    throw new UserError("--leader-elect-renew-deadline must be greater than 1.2 times --leader-elect-retry-period");
  }
  const enabled = trueOrFalse(values["leader-elect"], "leader-elect");
  return { enabled, leaseDurationMs, renewDeadlineMs, retryPeriodMs };
}
