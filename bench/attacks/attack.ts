/**
 * An attack is what somebody with few or no rights does to a running cluster. `npm run bench -- attacks` runs each for a
 * while against `./orlop up` and prints its cost. A short form of each is a test beside the code that it attacks.
 */
export interface Attack {
  readonly name: string;
  /** What Orlop does about it, in a few words; shown in the table. */
  readonly claim: string;
  /** `server`: the control plane alone is enough. `node`: the attack needs running containers. */
  readonly needs: "server" | "node";
  /** Runs before memory is measured for the first time. */
  prepare?(target: AttackTarget): Promise<void>;
  /** Attacks until the signal. Resolves with the outcome, and throws if the claim does not hold. */
  run(target: AttackTarget, signal: AbortSignal): Promise<string>;
  /** Runs after the attack, even a failed one; the namespace is deleted anyway. */
  cleanUp?(target: AttackTarget): Promise<void>;
}

/** The cluster under attack, and the few rights of the attacker. */
export interface AttackTarget {
  readonly url: string;
  readonly ca: string;
  readonly pid: number;
  readonly dataDir: string;
  /** The administrator's. */
  readonly kubeconfig: string;
  /** The attacker's namespace, in which the holder of `token` has the ClusterRole `edit`. */
  readonly namespace: string;
  readonly token: string;
  /** A namespace with a running Service and Pod of somebody else. */
  readonly victimNamespace: string;
  /** Sends a request on a persistent connection. Resolves with any status; throws only if there is no answer. */
  ask(question: Question): Promise<Answer>;
}

export interface Question {
  /** By default the attacker, with `token`. */
  readonly as?: "admin" | "attacker" | "nobody";
  readonly method?: string;
  readonly path: string;
  /** A string or bytes are sent as they are, anything else as JSON. */
  readonly body?: unknown;
  readonly type?: string;
}

export interface Answer {
  readonly status: number;
  readonly text: string;
}
