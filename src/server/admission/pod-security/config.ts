import { type Policy, privilegedPolicy } from "./levels.ts";

/** What the administrator of the cluster decides for all namespaces. */
export interface PodSecurityConfig {
  /** For namespaces whose labels do not say it. */
  readonly defaults: Policy;
  readonly exemptions: Exemptions;
}

/** What is never checked. */
export interface Exemptions {
  readonly usernames: ReadonlySet<string>;
  readonly namespaces: ReadonlySet<string>;
  readonly runtimeClasses: ReadonlySet<string>;
}

const nobody: ReadonlySet<string> = new Set();

/** Nothing is restricted, unless the labels of a namespace say so. */
export const defaultPodSecurity: PodSecurityConfig = {
  defaults: privilegedPolicy,
  exemptions: { usernames: nobody, namespaces: nobody, runtimeClasses: nobody },
};
