/**
 * An attack is what somebody without rights, or with few, does to a running cluster. `npm run bench -- attacks` runs each
 * for a while against `./orlop up` and prints what it cost; a short form of each is a test beside the code it attacks.
 */
export interface Attack {
  readonly name: string;
  /** What Orlop does about it, in a few words; the table shows it. */
  readonly claim: string;
  /** `server`: the control plane alone is enough. `node`: the attack needs running containers. */
  readonly needs: "server" | "node";
  /** Runs before memory is measured for the first time. */
  prepare?(target: AttackTarget): Promise<void>;
  /** Attacks until the signal. Resolves with what came of it, and throws if the claim does not hold. */
  run(target: AttackTarget, signal: AbortSignal): Promise<string>;
  /** Runs after the attack, also after one that failed; the namespace is deleted anyway. */
  cleanUp?(target: AttackTarget): Promise<void>;
}

/** The cluster under attack, and the few rights that the attacker has. */
export interface AttackTarget {
  readonly url: string;
  readonly ca: string;
  readonly pid: number;
  readonly dataDir: string;
  /** The administrator's. */
  readonly kubeconfig: string;
  /** The attacker's namespace: the ClusterRole `edit` is bound there to the holder of `token`. */
  readonly namespace: string;
  readonly token: string;
  /** A name that has a running Service and Pod of somebody else in it. */
  readonly victimNamespace: string;
  /** Asks on a connection that is kept. Answers with any status; throws only if there is no answer. */
  ask(question: Question): Promise<Answer>;
}

export interface Question {
  /** Default: the attacker, by `token`. */
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
