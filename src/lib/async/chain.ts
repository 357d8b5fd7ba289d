import { messageOf } from "#lib/text/message-of.ts";

/**
 * How a list of plugins, such as authenticators or admission plugins, is asked: the question, and what replies and
 * errors mean.
 */
export interface Chain<S extends Step, Q, A> {
  /** What a step is called in errors: `admission plugin`. */
  readonly what: string;
  /** Anything falsy is no answer. A step returns a promise only if it has to wait. */
  ask(step: S, question: Q): Reply<A> | Promise<Reply<A>>;
  /**
   * What an error of a step means: `refusal` ends the chain with this error, and `next` skips the step. By default, and
   * for `fault`, the step is broken, and the chain ends with a StepError.
   */
  meaning?(error: unknown, question: Q, step: S): "refusal" | "next" | "fault";
  /** Receives how long each step took that had to wait. The others take microseconds and are not timed. */
  readonly waits?: Waits | undefined;
}

export interface Step {
  readonly name: string;
}

export interface Waits {
  now(): number;
  waited(step: string, ms: number): void;
}

type Reply<A> = A | undefined | false | void;

/** A step failed unexpectedly. The message names it. */
export class StepError extends Error {
  override readonly name = "StepError";

  constructor(what: string, step: string, cause: unknown) {
    super(`running ${what} ${JSON.stringify(step)}: ${messageOf(cause)}`, { cause });
  }
}

/** Asks the steps in order and returns the first answer. Creates no promise unless a step does. */
export function runChain<S extends Step, Q, A>(
  chain: Chain<S, Q, A>,
  steps: readonly S[],
  question: Q,
): A | undefined | Promise<A | undefined> {
  return runFrom({ chain, steps, question }, 0);
}

interface Run<S extends Step, Q, A> {
  readonly chain: Chain<S, Q, A>;
  readonly steps: readonly S[];
  readonly question: Q;
}

function runFrom<S extends Step, Q, A>(run: Run<S, Q, A>, start: number): A | undefined | Promise<A | undefined> {
  const { chain, steps, question } = run;
  for (let index = start; index < steps.length; index++) {
    const step = steps[index] as S;
    try {
      const reply = chain.ask(step, question);
      if (reply instanceof Promise) return runAfter(run, index, reply);
      if (reply) return reply;
    } catch (error) {
      meet(run, step, error);
    }
  }
  return undefined;
}

async function runAfter<S extends Step, Q, A>(
  run: Run<S, Q, A>,
  index: number,
  pending: Promise<Reply<A>>,
): Promise<A | undefined> {
  const step = run.steps[index] as S;
  const { waits } = run.chain;
  const start = waits?.now() ?? 0;
  try {
    const reply = await pending;
    if (reply) return reply;
  } catch (error) {
    meet(run, step, error);
  } finally {
    waits?.waited(step.name, waits.now() - start);
  }
  return await runFrom(run, index + 1);
}

function meet<S extends Step, Q, A>({ chain, question }: Run<S, Q, A>, step: S, error: unknown): void {
  const meaning = chain.meaning?.(error, question, step) ?? "fault";
  if (meaning === "refusal") throw error;
  if (meaning === "fault") throw new StepError(chain.what, step.name, error);
}
