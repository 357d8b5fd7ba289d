import path from "node:path";
import { type AdmissionOptions } from "#cluster/control-plane.ts";

/** Upstream's flags for admission, for the commands that start a server. */
export const admissionFlags = {
  "enable-admission-plugins": {
    type: "string",
    value: "LIST",
    help: "admission plugins to turn on besides the usual ones",
  },
  "disable-admission-plugins": { type: "string", value: "LIST", help: "admission plugins to turn off" },
  "admission-control-config-file": {
    type: "string",
    value: "FILE",
    help: "AdmissionConfiguration with the configurations of plugins",
  },
} as const;

export type AdmissionValues = { readonly [flag in keyof typeof admissionFlags]?: string | undefined };

export function admissionOptions(values: AdmissionValues): AdmissionOptions {
  const file = values["admission-control-config-file"];
  return {
    enable: names(values["enable-admission-plugins"]),
    disable: names(values["disable-admission-plugins"]),
    configFile: file && path.resolve(file),
  };
}

const names = (list = ""): string[] =>
  list
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
