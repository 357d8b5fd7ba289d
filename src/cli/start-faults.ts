import { UserError } from "./command.ts";

/** Turns an error at the start of a server into a message that says what to do. */
export function explainStart(
  error: unknown,
  ports: {
    readonly port: string | number;
    readonly "kubelet-port"?: string;
    readonly "ingress-http-port"?: string;
    readonly "ingress-https-port"?: string;
  },
): unknown {
  if (!(error instanceof Error)) return error;
  const code = "code" in error ? error.code : undefined;
  const taken = "port" in error && typeof error.port === "number" ? error.port : Number(ports.port);
  const others = ["kubelet-port", "ingress-http-port", "ingress-https-port"] as const;
  const flag = `--${others.find((name) => taken === Number(ports[name])) ?? "port"}`;
  if (code === "EADDRINUSE")
    return new UserError(
      `port ${taken} is in use: stop the program that listens there, or choose another port with ${flag}`,
    );
  const isFile = "path" in error;
  const isDirectory = "syscall" in error && error.syscall === "mkdir";
  if (isFile && (isDirectory || code === "EACCES" || code === "EPERM" || code === "EROFS" || code === "ENOTDIR"))
    return new UserError(`cannot write to ${error.path} (${code}): choose another directory with --data-dir`);
  if (code === "EACCES")
    return new UserError(`not allowed to listen on port ${taken}: choose one above 1023 with ${flag}, or run as root`);
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND" || code === "EAI_AGAIN") {
    const host = "hostname" in error ? error.hostname : "address" in error ? error.address : "the host";
    return new UserError(
      `cannot listen on ${host}: this machine does not have that address: choose another with --host`,
    );
  }
  if (code === "ENOSPC") return new UserError("no space left on the disk: free some space and start again");
  return error;
}
