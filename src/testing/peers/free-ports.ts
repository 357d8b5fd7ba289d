import { createServer } from "node:net";

/** Below the ports that Linux gives to outgoing connections and those of services, and above those that programs like. */
const [lowest, highest] = [12_000, 29_999];

/**
 * Ports on which nothing listens, for servers that start later, or again on the same port. The kernel's own choice would be
 * a port that an outgoing connection of any process may take in the meantime.
 */
export async function freePorts(count: number): Promise<number[]> {
  const found = new Set<number>();
  while (found.size < count) {
    const port = lowest + Math.floor(Math.random() * (highest - lowest + 1));
    if (await isFree(port)) found.add(port);
  }
  return [...found];
}

export async function freePort(): Promise<number> {
  const [port = 0] = await freePorts(1);
  return port;
}

function isFree(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once("error", () => resolve(false));
    server.listen(port, () => server.close(() => resolve(true)));
  });
}
