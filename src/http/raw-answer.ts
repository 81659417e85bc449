import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';

import type { ApiError } from '../protocol/index.js';

/** Writes an HTTP error and closes the connection, where no response object exists (protocol §7). */
export function answerRaw(stream: Duplex, error: ApiError, headers: Readonly<Record<string, string>> = {}): void {
  const body = JSON.stringify(error.toBody());
  const all = Object.entries({
    ...error.headers,
    ...headers,
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
  });
  const lines = all.map(([name, value]) => `${name}: ${value}`);
  stream.end([`HTTP/1.1 ${error.status} ${STATUS_CODES[error.status] ?? ''}`, ...lines, '', body].join('\r\n'));
}
