import { type StatusError, tooLarge } from "#api/status.ts";

const KiB = 1024;
const MiB = 1024 * KiB;

/** Upstream's limit for the body of a write, and our limit for the size of a stored object. */
export const maxBodyBytes = 3 * MiB;

/** A review is a question and not stored. Everybody may ask some of them, and real ones are a thousand times smaller. */
export const maxReviewBytes = 256 * KiB;

export const bodyTooLarge = (limit = maxBodyBytes): StatusError =>
  tooLarge(`Request entity too large: limit is ${limit}`);

/**
 * How much callers may take of the server. A stranger is a connection on which nobody has been authenticated yet, or
 * only as anonymous. Anonymous callers are counted by address, service accounts by namespace, all others by user.
 */
export interface Limits {
  readonly connections: number;
  readonly connectionsPerUser: number;
  readonly strangers: number;
  /** More are accepted only as long as none of them is older than the next two values. */
  readonly strangersPerAddress: number;
  readonly silentMs: number;
  /** For those that have sent something. */
  readonly speakingMs: number;
  /** Streams of all strangers in total. */
  readonly strangerStreams: number;
  /** What a stranger may send per second besides requests: more is a flood of frames. */
  readonly strangerFrameBytes: number;
  readonly frameBytes: number;
  /** Requests in progress, including watches. */
  readonly requestsPerUser: number;
  readonly watches: number;
  readonly watchesPerUser: number;
  readonly watchesPerAddress: number;
  /** Every user is allowed this many, whatever the others watch. */
  readonly watchesAlways: number;
  /** Bodies that are being received or processed. */
  readonly bodyBytes: number;
  readonly bodyBytesPerUser: number;
  /** This much is received from every user, whatever the others send. */
  readonly bodyBytesAlways: number;
  /** A body of this size waits for one of the few places for large ones, and so does every compressed one. */
  readonly largeBodyBytes: number;
  readonly largeBodies: number;
  readonly largeBodiesPerUser: number;
  /**
   * Responses that the client has not read yet: above this, the next one is made when there is room again. Unread watch
   * events have the same limits and are counted separately.
   */
  readonly unsentBytes: number;
  readonly unsentBytesPerUser: number;
  readonly unsentBytesPerConnection: number;
  /** Every user may have this much unread, whatever the others leave unread. */
  readonly unsentBytesAlways: number;
  readonly handshakeMs: number;
  /** From the first byte of a request to the last of its headers (HTTP/1.1). */
  readonly headersMs: number;
  readonly bodyMs: number;
  /** A connection without requests. */
  readonly idleMs: number;
  readonly strangerIdleMs: number;
  /** A client that reads nothing of a response. */
  readonly stallMs: number;
  readonly strangerStallMs: number;
}

export const defaultLimits: Limits = {
  connections: 8192,
  connectionsPerUser: 2048,
  strangers: 2048,
  strangersPerAddress: 256,
  silentMs: 1000,
  speakingMs: 5000,
  strangerStreams: 1000,
  strangerFrameBytes: 64 * KiB,
  frameBytes: 4 * MiB,
  requestsPerUser: 10_000,
  watches: 20_000,
  watchesPerUser: 5000,
  watchesPerAddress: 50,
  watchesAlways: 100,
  bodyBytes: 128 * MiB,
  bodyBytesPerUser: 32 * MiB,
  bodyBytesAlways: 64 * KiB,
  largeBodyBytes: 256 * KiB,
  largeBodies: 4,
  largeBodiesPerUser: 2,
  unsentBytes: 256 * MiB,
  unsentBytesPerUser: 128 * MiB,
  unsentBytesPerConnection: 32 * MiB,
  unsentBytesAlways: 64 * KiB,
  handshakeMs: 10_000,
  headersMs: 32_000,
  bodyMs: 60_000,
  idleMs: 300_000,
  strangerIdleMs: 30_000,
  stallMs: 30_000,
  strangerStallMs: 10_000,
};

/** What HTTP/2 allows a client: little until it is authenticated. */
export const strangerSettings = { maxConcurrentStreams: 100, initialWindowSize: 16 * KiB };
export const userSettings = { maxConcurrentStreams: 1000, initialWindowSize: MiB };
