import { type Check, containersNamed, namesOf, plural, sortedOnce } from "./check.ts";

export const hostPorts: Check = {
  id: "hostPorts",
  level: "baseline",
  versions: [
    {
      since: 0,
      find(pod) {
        const bad = namesOf(pod, ({ ports }) => ports?.some(({ hostPort }) => hostPort));
        if (bad.length === 0) return undefined;
        const all = pod.containers.flatMap(({ ports }) => ports ?? []).flatMap(({ hostPort }) => hostPort || []);
        // Sorted as text, as upstream.
        const ports = sortedOnce(all.map(String));
        const uses = plural(bad.length, "uses", "use");
        const detail = `${containersNamed(bad)} ${uses} ${plural(ports.length, "hostPort")} ${ports.join(", ")}`;
        return { reason: "hostPort", detail };
      },
    },
  ],
};
