import {
  defaulted,
  type Infer,
  inline,
  int32,
  int64,
  intOrString,
  list,
  nullable,
  object,
  oneOf,
  optional,
  present,
  string,
} from "#schema/schema.ts";

export const ExecAction = object(
  "core/v1.ExecAction",
  { command: optional(1, list(string()), "The program and its arguments; no shell is involved.") },
  { doc: "Runs a command in the container; exit status 0 means success." },
);
export interface ExecAction extends Infer<typeof ExecAction> {}

export const HTTPHeader = object(
  "core/v1.HTTPHeader",
  { name: present(1, string(), "Name of the header."), value: present(2, string(), "Value of the header.") },
  { doc: "A header of an HTTP request." },
);
export interface HTTPHeader extends Infer<typeof HTTPHeader> {}

export const HTTPGetAction = object(
  "core/v1.HTTPGetAction",
  {
    path: defaulted(1, string(), "/", "Path to ask for."),
    port: present(2, intOrString(), "Number or name of the container's port."),
    host: optional(3, string(), "Host to connect to; the pod's IP by default."),
    scheme: defaulted(4, oneOf("HTTP", "HTTPS"), "HTTP", "Whether TLS is used. Certificates are not verified."),
    httpHeaders: optional(5, list(HTTPHeader), "Headers to send."),
  },
  { doc: "Makes an HTTP GET request; a status from 200 to 399 means success." },
);
export interface HTTPGetAction extends Infer<typeof HTTPGetAction> {}

export const TCPSocketAction = object(
  "core/v1.TCPSocketAction",
  {
    port: present(1, intOrString(), "Number or name of the container's port."),
    host: optional(2, string(), "Host to connect to; the pod's IP by default."),
  },
  { doc: "Opens a TCP connection; success means that it opens." },
);
export interface TCPSocketAction extends Infer<typeof TCPSocketAction> {}

export const GRPCAction = object(
  "core/v1.GRPCAction",
  {
    port: present(1, int32(), "The port, by number."),
    service: defaulted(2, string(), "", "Name of the service whose health is asked."),
  },
  { doc: "Calls the gRPC health service." },
);
export interface GRPCAction extends Infer<typeof GRPCAction> {}

export const SleepAction = object(
  "core/v1.SleepAction",
  { seconds: present(1, int64(), "How long.") },
  { doc: "Waits." },
);
export interface SleepAction extends Infer<typeof SleepAction> {}

const handlerFields = {
  exec: nullable(1, ExecAction, "Runs a command in the container."),
  httpGet: nullable(2, HTTPGetAction, "Makes an HTTP request."),
  tcpSocket: nullable(3, TCPSocketAction, "Opens a TCP connection."),
  grpc: nullable(4, GRPCAction, "Calls the gRPC health service."),
};

export const Probe = object(
  "core/v1.Probe",
  {
    ...inline(1, handlerFields),
    initialDelaySeconds: optional(2, int32({ min: 0 }), "Seconds after the container's start before the first check."),
    timeoutSeconds: defaulted(3, int32({ min: 0 }), 1, "Seconds after which a check counts as failed."),
    periodSeconds: defaulted(4, int32({ min: 0 }), 10, "Seconds from one check to the next."),
    successThreshold: defaulted(5, int32({ min: 0 }), 1, "Successes in a row that it takes after a failure."),
    failureThreshold: defaulted(6, int32({ min: 0 }), 3, "Failures in a row that it takes after a success."),
    terminationGracePeriodSeconds: nullable(
      7,
      int64(),
      "Seconds the container gets to end when this check failed; the pod's own by default.",
    ),
  },
  { doc: "A check of a container that is made again and again.", defaults: probeDefaults },
);
export interface Probe extends Infer<typeof Probe> {}

export const LifecycleHandler = object(
  "core/v1.LifecycleHandler",
  {
    exec: nullable(1, ExecAction, "Runs a command in the container."),
    httpGet: nullable(2, HTTPGetAction, "Makes an HTTP request."),
    tcpSocket: nullable(3, TCPSocketAction, "Kept for old objects; fails when it is run."),
    sleep: nullable(4, SleepAction, "Waits."),
  },
  { doc: "What is done at a moment of a container's life; exactly one field is set." },
);
export interface LifecycleHandler extends Infer<typeof LifecycleHandler> {}

export const Lifecycle = object(
  "core/v1.Lifecycle",
  {
    postStart: nullable(
      1,
      LifecycleHandler,
      "Runs right after the start; if it fails, the container is killed and restarted by policy.",
    ),
    preStop: nullable(2, LifecycleHandler, "Runs before the container is told to end, within the grace period."),
    stopSignal: nullable(
      3,
      string(),
      "Signal that tells the container to end; the image's own by default. Needs spec.os.name.",
    ),
  },
  { doc: "What is done right after a container starts and right before it ends." },
);
export interface Lifecycle extends Infer<typeof Lifecycle> {}

/** Zero means the default: Go cannot tell it from absent here. */
function probeDefaults(probe: {
  timeoutSeconds: number;
  periodSeconds: number;
  successThreshold: number;
  failureThreshold: number;
}): void {
  probe.timeoutSeconds ||= 1;
  probe.periodSeconds ||= 10;
  probe.successThreshold ||= 1;
  probe.failureThreshold ||= 3;
}
