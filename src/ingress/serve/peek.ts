import { type Socket } from "node:net";
import { maxOpeningBytes, type Opening, readClientHello } from "../routing/client-hello.ts";

const firstBytes = 2 << 10;

/**
 * Reads the hello of a connection and puts it back, so that whoever gets the socket next reads it again. The socket is
 * paused then. There is no result if the client leaves before; the caller limits the time.
 */
export function peek(socket: Socket, done: (opening: Exclude<Opening, { type: "incomplete" }>) => void): void {
  // One piece of memory for all chunks: a client may send thousands of single bytes.
  let bytes: Buffer = Buffer.allocUnsafe(firstBytes);
  let length = 0;
  let needed = 1;
  const leave = () => {
    socket.off("data", take);
    socket.off("end", cut);
    socket.pause();
  };
  const cut = () => {
    leave();
    socket.destroy();
  };
  const take = (chunk: Buffer) => {
    const read = chunk.subarray(0, maxOpeningBytes - length);
    if (length + read.length > bytes.length) bytes = grown(bytes, length, length + read.length);
    read.copy(bytes, length);
    length += read.length;
    if (length < needed) return;
    const opening = readClientHello(bytes.subarray(0, length));
    if (opening.type === "incomplete") {
      needed = opening.needed;
      return;
    }
    leave();
    // In this order: the last one comes to the front.
    if (read.length < chunk.length) socket.unshift(chunk.subarray(read.length));
    socket.unshift(bytes.subarray(0, length));
    done(opening);
  };
  socket.on("data", take);
  socket.once("end", cut);
}

function grown(bytes: Buffer, used: number, wanted: number): Buffer {
  const larger = Buffer.allocUnsafe(Math.min(maxOpeningBytes, Math.max(wanted, 2 * bytes.length)));
  bytes.copy(larger, 0, 0, used);
  return larger;
}
