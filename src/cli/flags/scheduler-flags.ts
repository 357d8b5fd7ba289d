import path from "node:path";
import { type ControlPlaneOptions } from "#cluster/control-plane.ts";

/** Of upstream's scheduler, whose own flag for the file is --config. */
export const schedulerFlags = {
  "scheduler-config": {
    type: "string",
    value: "FILE",
    help: "KubeSchedulerConfiguration: profiles, plugins and their arguments, extenders",
  },
} as const;

export type SchedulerValues = { readonly [flag in keyof typeof schedulerFlags]?: string | undefined };

export function schedulerOptions(values: SchedulerValues): ControlPlaneOptions["scheduler"] {
  const file = values["scheduler-config"];
  return file ? { configFile: path.resolve(file) } : undefined;
}
