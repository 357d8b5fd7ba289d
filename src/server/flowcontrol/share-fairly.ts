import { type Readable } from "node:stream";
import { type Patience } from "#lib/async/patience.ts";
import {
  type Answer,
  type Context,
  isLongRunning,
  type Next,
  type Seats,
  type Stage,
} from "#server/request/pipeline.ts";
import { type BodyTurns } from "./body-turns.ts";
import { type WatchCounts } from "./watch-counts.ts";

/** Gives a request its seats. Throws 429 if it cannot have them. */
export interface Gate {
  admit(context: Context): Seats | Promise<Seats>;
}

export interface FairnessDeps {
  readonly gate: Gate;
  readonly watches: WatchCounts;
  /** How long a body may take to arrive before its request gives up its seats. */
  readonly bodies: Patience;
  readonly bodyTurns: BodyTurns;
}
/** The longest such time. */
export const bodyPatienceMs = 100;

/** Passes a request on when it has its seats; the server gives them back when the answer is made. */
export function shareFairly({ gate, watches }: FairnessDeps): Stage {
  return (context, next) => {
    const isWatch = context.info.verb === "watch";
    // Streams and proxies have no end; upstream does not count them either.
    if (!isWatch && isLongRunning(context.info)) return next(context);
    const pass = isWatch ? counting(watches, next) : next;
    const seats = gate.admit(context);
    if (seats instanceof Promise) return seats.then((granted) => pass(holding(context, granted)));
    return pass(holding(context, seats));
  };
}

function holding(context: Context, seats: Seats): Context {
  context.seats = seats;
  return context;
}

/** A write takes longer, the more watches get its event. */
function counting(watches: WatchCounts, next: Next): Next {
  const counted = (context: Context, answer: Answer): Answer => {
    if (answer.type !== "watch") return answer;
    return {
      ...answer,
      start(sink) {
        const forget = watches.add(context);
        const stop = answer.start(sink);
        return () => {
          forget();
          stop();
        };
      },
    };
  };
  return (context) => {
    const answer = next(context);
    return answer instanceof Promise ? answer.then((late) => counted(context, late)) : counted(context, answer);
  };
}

/**
 * Waits for the body. A slow sender gives up its seats, and asks again when the body is there. Then a long body waits for
 * its turn.
 */
export async function receiveFairly(
  { gate, bodies, bodyTurns }: FairnessDeps,
  { context, received }: { context: Context; received: Promise<void> },
): Promise<void> {
  const { seats } = context;
  if (!seats) return await received;
  let hasLeft = false;
  const cancel = bodies.after(() => {
    hasLeft = true;
    seats.finish();
  });
  try {
    await received;
  } finally {
    cancel();
  }
  if (hasLeft) context.seats = await gate.admit(context);
  const turn = bodyTurns.wait(context.request.body?.length ?? 0);
  if (turn) await turn;
}

/** A slow body that is passed on as it arrives gives up its seats for good: the rest is the other server's work. */
export function passOnFairly({ bodies }: FairnessDeps, { seats }: Context, body: Readable): void {
  if (!seats) return;
  const cancel = bodies.after(() => seats.finish());
  body.once("end", cancel);
  body.once("close", cancel);
}
