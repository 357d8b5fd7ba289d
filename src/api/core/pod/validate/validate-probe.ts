import { type HTTPGetAction, type Lifecycle, type LifecycleHandler, type Probe } from "#api/core/container/probe.ts";
import { linuxSignals } from "#api/core/container/stop-signals.ts";
import { type Cursor } from "#api/cursor.ts";
import { httpHeaderName, portName, portNumber } from "#api/meta/names.ts";

/** What a probe or a hook can do: the fields of both. */
type Handler = Pick<Probe, "exec" | "httpGet" | "tcpSocket" | "grpc"> & Pick<LifecycleHandler, "sleep">;

interface Probes {
  readonly livenessProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly startupProbe?: Probe;
}

export function validateProbes(at: Cursor<Probes>, gracePeriod: number): void {
  at.on("livenessProbe", (at) => validateStartProbe(at, gracePeriod));
  at.on("readinessProbe", (at) => {
    validateProbe(at, gracePeriod);
    at.on("terminationGracePeriodSeconds", (at) => at.invalid("must not be set for readinessProbes"));
  });
  at.on("startupProbe", (at) => validateStartProbe(at, gracePeriod));
}

/** A probe whose successThreshold must be 1. */
function validateStartProbe(at: Cursor<Probe>, gracePeriod: number): void {
  validateProbe(at, gracePeriod);
  if (at.value.successThreshold !== 1) at.field("successThreshold").invalid("must be 1");
}

function validateProbe(at: Cursor<Probe>, gracePeriod: number): void {
  validateHandler(at, gracePeriod);
  at.on("terminationGracePeriodSeconds", (at) => {
    if (at.value <= 0) at.invalid("must be greater than 0");
  });
}

const handlerNames = ["exec", "httpGet", "tcpSocket", "grpc", "sleep"] as const;

function validateHandler(at: Cursor<Handler>, gracePeriod: number): void {
  at.exactlyOne(handlerNames, "handler", (name) => {
    if (name === "exec") at.on(name, (at) => at.field("command").required());
    else if (name === "httpGet") at.on(name, validateHttpGet);
    else if (name === "sleep") at.on(name, (at) => validateSleep(at, gracePeriod));
    else at.on(name, (at: Cursor<{ port: number | string }>) => validatePort(at.field("port")));
  });
}

function validateSleep(at: Cursor<{ seconds: number }>, gracePeriod: number): void {
  const { seconds } = at.value;
  if (seconds >= 0 && seconds <= gracePeriod) return;
  at.invalid(`must be non-negative and less than terminationGracePeriodSeconds (${gracePeriod})`, seconds);
}

function validateHttpGet(at: Cursor<HTTPGetAction>): void {
  validatePort(at.field("port"));
  for (const { name } of at.value.httpHeaders ?? []) at.field("httpHeaders").rule(httpHeaderName, name);
}

/** A port by number or by name. */
export function validatePort(at: Cursor<number | string>): void {
  if (typeof at.value === "string") at.rule(portName);
  else at.invalid(portNumber(at.value));
}

export function validateLifecycle(at: Cursor<Lifecycle>, gracePeriod: number, os: string | undefined): void {
  at.on("postStart", (at) => validateHandler(at, gracePeriod));
  at.on("preStop", (at) => validateHandler(at, gracePeriod));
  at.on("stopSignal", (at) => {
    if (os === undefined) at.forbidden("may not be set for containers with empty `spec.os.name`");
    else at.oneOf(stopSignals.get(os) ?? [at.value]);
  });
}

const stopSignals: ReadonlyMap<string, readonly string[]> = new Map([
  ["linux", linuxSignals],
  ["windows", ["SIGKILL", "SIGTERM"]],
]);
