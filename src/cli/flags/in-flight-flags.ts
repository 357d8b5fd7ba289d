import { durationSeconds, UserError, wholeNumber } from "../command.ts";

/** How many requests are served at the same time and how long, for the commands that start a server. */
export const inFlightFlags = {
  "max-requests-inflight": {
    type: "string",
    value: "N",
    default: "400",
    help: "seats for requests, together with those of --max-mutating-requests-inflight; without fairness, the limit of reads",
  },
  "max-mutating-requests-inflight": {
    type: "string",
    value: "N",
    default: "200",
    help: "seats for requests, together with those of --max-requests-inflight; without fairness, the limit of writes",
  },
  "enable-priority-and-fairness": {
    type: "string",
    value: "BOOL",
    default: "true",
    help: "divide the seats by FlowSchemas and priority levels; false: only the two limits, 0 being none",
  },
  "request-timeout": {
    type: "string",
    value: "DURATION",
    default: "1m",
    help: "how long a request may take, except watches and streams",
  },
} as const;

export type InFlightValues = Readonly<Record<keyof typeof inFlightFlags, string>>;

export function inFlightOptions(values: InFlightValues) {
  const [reads, writes] = (["max-requests-inflight", "max-mutating-requests-inflight"] as const).map((flag) =>
    wholeNumber(values[flag], flag, { min: 0, max: 1_000_000 }),
  );
  const fair = values["enable-priority-and-fairness"];
  if (fair !== "true" && fair !== "false") {
    throw new UserError(`--enable-priority-and-fairness must be true or false, not ${JSON.stringify(fair)}`);
  }
  const options = { reads: reads ?? 0, writes: writes ?? 0, isFair: fair === "true" };
  if (options.isFair && options.reads + options.writes === 0) {
    throw new UserError(
      "--max-requests-inflight and --max-mutating-requests-inflight must add up to at least 1, unless --enable-priority-and-fairness is false",
    );
  }
  return { ...options, requestTimeoutMs: durationSeconds(values["request-timeout"], "request-timeout") * 1000 };
}
