/** A server that does nothing: what a renewal sent to it takes is the work of the machine and of the clients. */
import http2 from "node:http2";
import { type AddressInfo } from "node:net";

const server = http2.createServer();
server.on("stream", (stream: http2.ServerHttp2Stream) => {
  stream.resume();
  stream.on("end", () => {
    stream.respond({ ":status": 200 });
    stream.end('{"spec":{}}');
  });
});
server.listen(0, "127.0.0.1", () =>
  process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, () => {}),
);
process.on("disconnect", () => process.exit(0));
