import { type ServerResponse } from "node:http";

/** Sends for as long as anybody listens. Calls `sent` with the size of each part. */
export function flood(response: ServerResponse, sent: (bytes: number) => void): void {
  const chunk = Buffer.alloc(1 << 20, " ");
  const more = (): void => {
    while (!response.destroyed) {
      sent(chunk.length);
      if (!response.write(chunk)) return;
    }
  };
  response.on("drain", more);
  more();
}
