import { type Check, namesOf, setters } from "./check.ts";

export const windowsHostProcess: Check = {
  id: "windowsHostProcess",
  level: "baseline",
  versions: [
    {
      since: 0,
      find(pod) {
        const containers = namesOf(pod, ({ securityContext }) => securityContext?.windowsOptions?.hostProcess);
        const bad = setters(pod.security.windowsOptions?.hostProcess, containers);
        if (!bad) return undefined;
        return { reason: "hostProcess", detail: `${bad} must not set securityContext.windowsOptions.hostProcess=true` };
      },
    },
  ],
};
