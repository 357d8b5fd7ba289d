/** Names and values of headers that SPDY/3 compresses well, each after its length in four bytes. */
const words =
  "options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow " +
  "authorization cache-control connection content-base content-encoding content-language content-length " +
  "content-location content-md5 content-range content-type date etag expect expires from host if-match " +
  "if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards pragma " +
  "proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade " +
  "user-agent vary via warning www-authenticate method get status";
const pairs = ["200 OK", "version", "HTTP/1.1", "url", "public", "set-cookie", "keep-alive", "origin"];

/** Texts without a length: status lines, parts of dates, and media types. */
const rest =
  "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505203 " +
  "Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden404 " +
  "Not Found500 Internal Server Error501 Not Implemented503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept " +
  "Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif," +
  "application/xml,application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate," +
  "sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.";

/** The dictionary that the specification of SPDY/3 gives to zlib. */
export function spdyDictionary(): Buffer {
  const sized = [...words.split(" "), ...pairs].flatMap((word) => {
    const size = Buffer.alloc(4);
    size.writeUInt32BE(word.length);
    return [size, Buffer.from(word)];
  });
  return Buffer.concat([...sized, Buffer.from(rest)]);
}
