import { defaulted, inline, nullable, optional, present, written } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { atomicList, int32, int64, intOrString, known, oneOf, string } from "#schema/types.ts";
import { linuxSignals } from "./stop-signals.ts";

const object = inPackage("core/v1");

const HTTPHeader = object("HTTPHeader", "A header of an HTTP request.", {
  name: present(1, string(), "Name of the header."),
  value: present(2, string(), "Value of the header."),
});

export const HTTPGetAction = object("HTTPGetAction", "An HTTP GET request. A status from 200 to 399 is a success.", {
  path: defaulted(1, string(), "/", "URL path of the request."),
  port: present(2, intOrString(), "Number or name of the container's port."),
  host: optional(3, string(), "Host to connect to; the IP address of the pod if empty."),
  scheme: defaulted(4, oneOf("HTTP", "HTTPS"), "HTTP", "HTTP or HTTPS. Certificates are not verified."),
  httpHeaders: optional(5, atomicList(HTTPHeader), "Headers of the request."),
});
export interface HTTPGetAction extends Infer<typeof HTTPGetAction> {}

const commonHandlers = {
  exec: object.nullable(1, "ExecAction", "A command in the container. Exit status 0 is a success.", {
    command: optional(1, atomicList(string()), "Program and its arguments. It is not run in a shell."),
  }),
  httpGet: nullable(2, HTTPGetAction, "An HTTP GET request to the container."),
  tcpSocket: object.nullable(3, "TCPSocketAction", "A TCP connection to the container. A hook of this type fails.", {
    port: present(1, intOrString(), "Number or name of the container's port."),
    host: optional(2, string(), "Host to connect to; the IP address of the pod if empty."),
  }),
};

export const Probe = object.filledBy(probeDefaults, "Probe", "A check of a container that is repeated.", {
  ...inline(1, {
    ...commonHandlers,
    grpc: object.nullable(4, "GRPCAction", "A call of the gRPC health service of the container.", {
      port: present(1, int32(), "Number of the port of the gRPC service."),
      service: written(defaulted(2, string(), "", "Name of the service in the health request.")),
    }),
  }),
  initialDelaySeconds: optional(2, int32({ min: 0 }), "Seconds from the start of the container to the first check."),
  timeoutSeconds: defaulted(3, int32({ min: 0 }), 1, "Seconds after which a check fails."),
  periodSeconds: defaulted(4, int32({ min: 0 }), 10, "Seconds from one check to the next."),
  successThreshold: defaulted(5, int32({ min: 0 }), 1, "Consecutive successes after which a failed probe succeeds."),
  failureThreshold: defaulted(6, int32({ min: 0 }), 3, "Consecutive failures after which the probe fails."),
  terminationGracePeriodSeconds: nullable(7, int64(), "Seconds to stop after a failure; those of the pod by default."),
});
export interface Probe extends Infer<typeof Probe> {}

export const LifecycleHandler = object("LifecycleHandler", "A lifecycle hook. Exactly one field is set.", {
  ...commonHandlers,
  sleep: object.nullable(4, "SleepAction", "A pause of some seconds.", {
    seconds: present(1, int64(), "Number of seconds to sleep."),
  }),
});
export interface LifecycleHandler extends Infer<typeof LifecycleHandler> {}

export const Lifecycle = object("Lifecycle", "Hooks that run after the start and before the stop of a container.", {
  postStart: nullable(1, LifecycleHandler, "Hook after the start. If it fails, the container restarts."),
  preStop: nullable(2, LifecycleHandler, "Hook before the stop. It counts against the grace period."),
  stopSignal: nullable(3, known(...linuxSignals), "Signal that stops the container. Requires spec.os.name of the pod."),
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
