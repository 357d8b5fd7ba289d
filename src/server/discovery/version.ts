import { kubernetesVersion } from "#api/version.ts";
import { goArchitecture } from "#lib/process/go-architecture.ts";

export const versionInfo = {
  major: "1",
  minor: "36",
  emulationMajor: "1",
  emulationMinor: "36",
  minCompatibilityMajor: "1",
  minCompatibilityMinor: "35",
  gitVersion: `${kubernetesVersion}+orlop`,
  gitCommit: "",
  gitTreeState: "clean",
  buildDate: "2026-08-01T00:00:00Z",
  goVersion: "none",
  compiler: "v8",
  platform: `${process.platform}/${goArchitecture()}`,
};
