import { type Resource } from "#api/resource.ts";
import { type Clock } from "#lib/async/clock.ts";
import { orAborted } from "#lib/async/tasks.ts";

/** So many kinds of one server are read for the first time at once. */
const maxStarting = 4;
/** A kind that takes longer does not hold up the next ones. */
const slowMs = 30_000;

/** What is kept of one server's objects, and how many of its kinds are being read. */
export class ServerRoom {
  objects = 0;
  bytes = 0;
  readonly #clock: Clock;
  #starting = 0;
  readonly #waiting = new Set<() => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Waits for its turn to read a kind. Returns the function that ends the turn. */
  async enter(signal: AbortSignal | undefined): Promise<() => void> {
    while (this.#starting >= maxStarting) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#waiting.add(resolve);
      try {
        await orAborted(promise, signal);
      } catch (error) {
        // It may have been its turn.
        this.#wakeNext();
        throw error;
      } finally {
        this.#waiting.delete(resolve);
      }
    }
    this.#starting++;
    let isOver = false;
    const leave = (): void => {
      if (isOver) return;
      isOver = true;
      cancel();
      this.#starting--;
      this.#wakeNext();
    };
    const cancel = this.#clock.after(slowMs, leave);
    return leave;
  }

  #wakeNext(): void {
    const [wake] = this.#waiting;
    if (!wake) return;
    this.#waiting.delete(wake);
    wake();
  }
}

export class ServerRooms {
  readonly #clock: Clock;
  readonly #rooms = new Map<string, ServerRoom>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  of({ remoteServer = "" }: Resource): ServerRoom {
    const known = this.#rooms.get(remoteServer);
    const room = known ?? new ServerRoom(this.#clock);
    if (!known) this.#rooms.set(remoteServer, room);
    return room;
  }
}
