import { type FieldPath, forbiddenValue, invalidValue, requiredValue, unsupportedValue } from "#schema/field-error.ts";
import { httpHeaderName, portName, portNumber } from "../meta/names.ts";
import { type Faults, judgeAt } from "./faults.ts";
import { type HTTPGetAction, type Lifecycle, type LifecycleHandler, type Probe } from "./probe.ts";

/** What a probe or a hook can do: the fields of both. */
type Handler = Pick<Probe, "exec" | "httpGet" | "tcpSocket" | "grpc"> & Pick<LifecycleHandler, "sleep">;

interface Probes {
  readonly livenessProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly startupProbe?: Probe;
}

export function validateProbes(container: Probes, gracePeriod: number, path: FieldPath, faults: Faults): void {
  const { livenessProbe, readinessProbe, startupProbe } = container;
  if (livenessProbe) validateStartProbe(livenessProbe, gracePeriod, path.child("livenessProbe"), faults);
  if (readinessProbe) {
    const at = path.child("readinessProbe");
    validateProbe(readinessProbe, gracePeriod, at, faults);
    const { terminationGracePeriodSeconds: grace } = readinessProbe;
    if (grace !== undefined) {
      const detail = "must not be set for readinessProbes";
      faults.push(invalidValue(at.child("terminationGracePeriodSeconds"), grace, detail));
    }
  }
  if (startupProbe) validateStartProbe(startupProbe, gracePeriod, path.child("startupProbe"), faults);
}

/** A probe that one success is enough for. */
function validateStartProbe(probe: Probe, gracePeriod: number, path: FieldPath, faults: Faults): void {
  validateProbe(probe, gracePeriod, path, faults);
  if (probe.successThreshold !== 1) {
    faults.push(invalidValue(path.child("successThreshold"), probe.successThreshold, "must be 1"));
  }
}

function validateProbe(probe: Probe, gracePeriod: number, path: FieldPath, faults: Faults): void {
  validateHandler(probe, gracePeriod, path, faults);
  const { terminationGracePeriodSeconds: grace } = probe;
  if (grace !== undefined && grace <= 0) {
    faults.push(invalidValue(path.child("terminationGracePeriodSeconds"), grace, "must be greater than 0"));
  }
}

const handlerNames = ["exec", "httpGet", "tcpSocket", "grpc", "sleep"] as const;

function validateHandler(handler: Handler, gracePeriod: number, path: FieldPath, faults: Faults): void {
  const [first, ...others] = handlerNames.filter((name) => handler[name] !== undefined);
  if (first === undefined) {
    faults.push(requiredValue(path, "must specify a handler type"));
    return;
  }
  validateAction(handler, first, { gracePeriod, path: path.child(first) }, faults);
  for (const name of others) {
    faults.push(forbiddenValue(path.child(name), "may not specify more than 1 handler type"));
  }
}

function validateAction(
  { exec, httpGet, tcpSocket, grpc, sleep }: Handler,
  name: (typeof handlerNames)[number],
  { gracePeriod, path }: { gracePeriod: number; path: FieldPath },
  faults: Faults,
): void {
  if (name === "exec" && !exec?.command?.length) faults.push(requiredValue(path.child("command")));
  else if (name === "httpGet" && httpGet) validateHttpGet(httpGet, path, faults);
  else if (name === "tcpSocket" && tcpSocket) validatePort(tcpSocket.port, path.child("port"), faults);
  else if (name === "grpc" && grpc) validatePort(grpc.port, path.child("port"), faults);
  else if (name === "sleep" && sleep && (sleep.seconds < 0 || sleep.seconds > gracePeriod)) {
    const detail = `must be non-negative and less than terminationGracePeriodSeconds (${gracePeriod})`;
    faults.push(invalidValue(path, sleep.seconds, detail));
  }
}

function validateHttpGet({ port, httpHeaders = [] }: HTTPGetAction, path: FieldPath, faults: Faults): void {
  validatePort(port, path.child("port"), faults);
  for (const { name } of httpHeaders) judgeAt(httpHeaderName, name, path.child("httpHeaders"), faults);
}

/** A port by number or by name. */
function validatePort(port: number | string, path: FieldPath, faults: Faults): void {
  if (typeof port === "string") judgeAt(portName, port, path, faults);
  else {
    const fault = portNumber(port);
    if (fault) faults.push(invalidValue(path, port, fault));
  }
}

export function validateLifecycle(
  { postStart, preStop, stopSignal }: Lifecycle,
  { gracePeriod, os }: { gracePeriod: number; os: string | undefined },
  path: FieldPath,
  faults: Faults,
): void {
  if (postStart) validateHandler(postStart, gracePeriod, path.child("postStart"), faults);
  if (preStop) validateHandler(preStop, gracePeriod, path.child("preStop"), faults);
  if (stopSignal === undefined) return;
  const supported = os === undefined ? undefined : stopSignals.get(os);
  if (os === undefined) {
    const detail = "may not be set for containers with empty `spec.os.name`";
    faults.push(forbiddenValue(path.child("stopSignal"), detail));
  } else if (supported && !supported.includes(stopSignal)) {
    faults.push(unsupportedValue(path.child("stopSignal"), stopSignal, supported));
  }
}

const namedSignals =
  "ABRT ALRM BUS CHLD CLD CONT FPE HUP ILL INT IO IOT KILL PIPE POLL PROF PWR QUIT SEGV STKFLT STOP SYS TERM TRAP TSTP TTIN TTOU URG USR1 USR2 VTALRM WINCH XCPU XFSZ RTMIN RTMAX";
const realTimeSignals = [
  ...Array.from({ length: 15 }, (_, index) => `RTMIN+${index + 1}`),
  ...Array.from({ length: 14 }, (_, index) => `RTMAX-${index + 1}`),
];
const stopSignals: ReadonlyMap<string, readonly string[]> = new Map([
  ["linux", [...namedSignals.split(" "), ...realTimeSignals].map((name) => `SIG${name}`).sort()],
  ["windows", ["SIGKILL", "SIGTERM"]],
]);
