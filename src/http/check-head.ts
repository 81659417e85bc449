import type { IncomingMessage } from 'node:http';

import { ApiError } from '../protocol/index.js';

/**
 * Checks what Node leaves unchecked in the head of a request, or would refuse with an empty body. Throws ApiError 400
 * without exactly one `Host` (RFC 9112 section 3.2) or with more than one `Authorization` (RFC 9110 section 5.3), 415 for a transfer encoding
 * before `chunked`, whose body would be read as it is, and 417 for an expectation other than `100-continue` (RFC 9110 section 10.1.1).
 */
export function checkHead(request: IncomingMessage): void {
  const { headers, httpVersionMajor, httpVersionMinor } = request;
  const needsHost = httpVersionMajor === 1 && httpVersionMinor === 1;
  if (needsHost && headers.host === undefined) throw ApiError.badRequest("Missing header: 'host'.", null);
  for (const name of ['host', 'authorization']) {
    if (isTwice(request, name)) throw ApiError.badRequest(`The header '${name}' is there twice. Send it once.`, null);
  }
  // Node refuses what does not end in `chunked`. Not 501, as RFC 9112 section 6.1 suggests: clients ask again after 5xx.
  if (headers['transfer-encoding']?.includes(',') === true) {
    const message = "Unsupported value of the header 'transfer-encoding'. Supported values are: 'chunked'.";
    throw ApiError.of('unsupported_content_encoding', message);
  }
  if (headers.expect !== undefined && headers.expect.toLowerCase() !== '100-continue') {
    const message = "Unsupported value of the header 'expect'. Supported values are: '100-continue'.";
    throw ApiError.of('expectation_failed', message);
  }
}

/** `headers` has only the first one. */
function isTwice({ rawHeaders }: IncomingMessage, header: string): boolean {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === header.length && name.toLowerCase() === header) count++;
  }
  return count > 1;
}
