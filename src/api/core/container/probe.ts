import { defaulted, inGo, inline, nullable, optional, present } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { int32, int64, intOrString, list, oneOf, string } from "#schema/types.ts";

const object = inPackage("core/v1");

export const ExecAction = object("ExecAction", "Runs a command in the container; exit status 0 means success.", {
  command: optional(1, list(string()), "The program and its arguments; no shell is involved."),
});

export const HTTPHeader = object("HTTPHeader", "A header of an HTTP request.", {
  name: present(1, string(), "Name of the header."),
  value: present(2, string(), "Value of the header."),
});

export const HTTPGetAction = object("HTTPGetAction", "An HTTP GET request; a status from 200 to 399 is a success.", {
  path: defaulted(1, string(), "/", "Path to ask for."),
  port: present(2, intOrString(), "Number or name of the container's port."),
  host: optional(3, string(), "Host to connect to; the pod's IP by default."),
  scheme: defaulted(4, oneOf("HTTP", "HTTPS"), "HTTP", "Whether TLS is used. Certificates are not verified."),
  httpHeaders: optional(5, list(HTTPHeader), "Headers to send."),
});
export interface HTTPGetAction extends Infer<typeof HTTPGetAction> {}

export const TCPSocketAction = object("TCPSocketAction", "Opens a TCP connection; success means that it opens.", {
  port: present(1, intOrString(), "Number or name of the container's port."),
  host: optional(2, string(), "Host to connect to; the pod's IP by default."),
});

export const GRPCAction = object("GRPCAction", "Calls the gRPC health service.", {
  port: present(1, int32(), "The port, by number."),
  service: inGo({ zero: "written" }, defaulted(2, string(), "", "Name of the service whose health is asked.")),
});

export const SleepAction = object("SleepAction", "Sleeps for a number of seconds.", {
  seconds: present(1, int64(), "Number of seconds to sleep."),
});

const handlerFields = {
  exec: nullable(1, ExecAction, "Runs a command in the container."),
  httpGet: nullable(2, HTTPGetAction, "Makes an HTTP request."),
  tcpSocket: nullable(3, TCPSocketAction, "Opens a TCP connection."),
  grpc: nullable(4, GRPCAction, "Calls the gRPC health service."),
};

export const Probe = object(
  "Probe",
  { doc: "A check of a container that is made again and again.", defaults: probeDefaults },
  {
    ...inline(1, handlerFields),
    initialDelaySeconds: optional(2, int32({ min: 0 }), "Seconds after the container's start before the first check."),
    timeoutSeconds: defaulted(3, int32({ min: 0 }), 1, "Seconds after which a check counts as failed."),
    periodSeconds: defaulted(4, int32({ min: 0 }), 10, "Seconds from one check to the next."),
    successThreshold: defaulted(5, int32({ min: 0 }), 1, "Successes in a row that it takes after a failure."),
    failureThreshold: defaulted(6, int32({ min: 0 }), 3, "Failures in a row that it takes after a success."),
    terminationGracePeriodSeconds: nullable(7, int64(), "Grace period after a failure; the pod's by default."),
  },
);
export interface Probe extends Infer<typeof Probe> {}

export const LifecycleHandler = object("LifecycleHandler", "A lifecycle hook. Exactly one field is set.", {
  exec: nullable(1, ExecAction, "Runs a command in the container."),
  httpGet: nullable(2, HTTPGetAction, "Makes an HTTP request."),
  tcpSocket: nullable(3, TCPSocketAction, "Kept for old objects; fails when it is run."),
  sleep: nullable(4, SleepAction, "Sleeps for a number of seconds."),
});
export interface LifecycleHandler extends Infer<typeof LifecycleHandler> {}

export const Lifecycle = object("Lifecycle", "What is done right after a container starts and right before it ends.", {
  postStart: nullable(1, LifecycleHandler, "Runs after the start; if it fails, the container is restarted."),
  preStop: nullable(2, LifecycleHandler, "Runs before the container is told to end, within the grace period."),
  stopSignal: nullable(3, string(), "Signal that stops the container; needs spec.os.name."),
});
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
