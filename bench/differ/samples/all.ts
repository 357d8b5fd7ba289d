import { coreSamples } from "./core.ts";
import { deviceSamples, extensionSamples } from "./devices-and-extensions.ts";
import { networkSamples, storageSamples } from "./network-and-storage.ts";
import { podSamples } from "./pod.ts";
import { policySamples, reviewSamples } from "./policy.ts";
import { type Sample } from "./sample.ts";
import { workloadSamples } from "./workloads.ts";

/** One valid object of every kind, as rich as its rules. */
export const allSamples: readonly Sample[] = [
  ...coreSamples,
  ...podSamples,
  ...workloadSamples,
  ...networkSamples,
  ...storageSamples,
  ...policySamples,
  ...reviewSamples,
  ...deviceSamples,
  ...extensionSamples,
];
