import { type Check, containersNamed, namesOf } from "./check.ts";

export const privileged: Check = {
  id: "privileged",
  level: "baseline",
  versions: [
    {
      since: 0,
      find(pod) {
        const bad = namesOf(pod, ({ securityContext }) => securityContext?.privileged);
        if (bad.length === 0) return undefined;
        return { reason: "privileged", detail: `${containersNamed(bad)} must not set securityContext.privileged=true` };
      },
    },
  ],
};
