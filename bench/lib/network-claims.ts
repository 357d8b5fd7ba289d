import { createSocket } from "node:dgram";
import { once } from "node:events";
import { connect } from "node:net";
import { type AttackTarget } from "../attacks/attack.ts";

/** Checks for attacks on the network: whether others still get their services and names. */

interface ServiceParts {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly clusterIP: string;
    readonly selector?: Readonly<Record<string, string>>;
    readonly ports: readonly { readonly port: number; readonly targetPort: number | string }[];
  };
}

/** Throws unless the status is below 300. */
export async function must(target: AttackTarget, question: Parameters<AttackTarget["ask"]>[0]): Promise<unknown> {
  const { status, text } = await target.ask(question);
  if (status >= 300) throw new Error(`${question.method ?? "GET"} ${question.path}: ${status} ${text.slice(0, 300)}`);
  return text === "" ? undefined : JSON.parse(text);
}

export async function dnsAddress(target: AttackTarget): Promise<string> {
  const path = "/api/v1/namespaces/kube-system/services/kube-dns";
  return ((await must(target, { as: "admin", path })) as ServiceParts).spec.clusterIP;
}

/** A pod with a container that does nothing, or runs a script. */
export const podBody = (name: string, script: string, parts: object = {}) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, labels: { app: "attacker" } },
  spec: {
    terminationGracePeriodSeconds: 1,
    containers: [{ name: "c", image: "orlop.dev/busybox:1", command: ["sh", "-c", script], ...parts }],
  },
});

/** Starts a pod of the attacker, and waits until it is ready. */
export async function startPod(target: AttackTarget, body: ReturnType<typeof podBody>): Promise<void> {
  const path = `/api/v1/namespaces/${target.namespace}/pods`;
  await must(target, { method: "POST", path, body });
  await until(20_000, `pod ${body.metadata.name} does not become ready`, async () => {
    const text = JSON.stringify(await must(target, { path: `${path}/${body.metadata.name}` }));
    return text.includes('"type":"Ready","status":"True"') || text.includes('"status":"True","type":"Ready"');
  });
}

/** How long it takes until a new service of somebody else reaches its pod. */
export async function newServiceMs(target: AttackTarget): Promise<number> {
  const path = `/api/v1/namespaces/${target.victimNamespace}/services`;
  const { items } = (await must(target, { as: "admin", path })) as { items: ServiceParts[] };
  const [victim] = items.filter(({ spec }) => spec.selector);
  if (!victim) throw new Error("the victim has no service");
  const { selector, ports } = victim.spec;
  const body = {
    apiVersion: "v1",
    kind: "Service",
    metadata: { generateName: "new-" },
    spec: { selector, ports: ports.map(({ port, targetPort }) => ({ port, targetPort })) },
  };
  const startMs = performance.now();
  const { metadata, spec } = (await must(target, { as: "admin", method: "POST", path, body })) as ServiceParts;
  try {
    await until(30_000, "a new service does not work", () => answers(spec.clusterIP, spec.ports[0]?.port ?? 0));
    return performance.now() - startMs;
  } finally {
    await target.ask({ as: "admin", method: "DELETE", path: `${path}/${metadata.name}` });
  }
}

async function until(limitMs: number, complaint: string, holds: () => Promise<boolean>): Promise<void> {
  const endMs = performance.now() + limitMs;
  while (!(await holds())) {
    if (performance.now() > endMs) throw new Error(complaint);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Whether a connection to this address is accepted. */
export async function answers(host: string, port: number): Promise<boolean> {
  const socket = connect({ host, port, timeout: 1_000 });
  try {
    await Promise.race([
      once(socket, "connect"),
      once(socket, "timeout").then(() => Promise.reject(new Error("timeout"))),
    ]);
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

const kubernetes = Buffer.from("0a6b756265726e65746573", "hex");

/** A DNS question for `kubernetes.default.svc.cluster.local`. */
const question = Buffer.concat([
  Buffer.from("123401000001000000000000", "hex"),
  kubernetes,
  Buffer.from("0764656661756c740373766307636c7573746572056c6f63616c0000010001", "hex"),
]);

/** Whether the cluster's DNS gives the node the right answer, over UDP or TCP. */
export async function dnsWorks(host: string, transport: "udp" | "tcp"): Promise<boolean> {
  const answer = await (transport === "udp" ? askByDatagram(host) : askByConnection(host)).catch(() => undefined);
  return answer !== undefined && answer.length > question.length && ((answer[3] ?? 0xf) & 0xf) === 0;
}

async function askByDatagram(host: string): Promise<Buffer> {
  const socket = createSocket("udp4");
  try {
    socket.send(question, 53, host);
    const [answer] = (await once(socket, "message", { signal: AbortSignal.timeout(3_000) })) as [Buffer];
    return answer;
  } finally {
    socket.close();
  }
}

async function askByConnection(host: string): Promise<Buffer> {
  const socket = connect({ host, port: 53 });
  socket.on("error", () => {});
  try {
    socket.write(Buffer.concat([Buffer.from([0, question.length]), question]));
    const [answer] = (await once(socket, "data", { signal: AbortSignal.timeout(3_000) })) as [Buffer];
    return answer.subarray(2);
  } finally {
    socket.destroy();
  }
}
