import { access } from "node:fs/promises";

/** The only interface of a pod. */
const inPod = "net.ipv6.conf.eth0";

/**
 * Kernel settings of a pod's network: its routes are those that it got when it was made. Otherwise any pod on the bridge could
 * call itself a router, and get what the others send. A kernel without IPv6 has no such settings.
 */
export const routeSysctls = (): Promise<Readonly<Record<string, string>>> =>
  access("/proc/sys/net/ipv6/conf/all/accept_ra").then(
    () => ({ [`${inPod}.accept_ra`]: "0", [`${inPod}.accept_redirects`]: "0" }),
    () => ({}),
  );
