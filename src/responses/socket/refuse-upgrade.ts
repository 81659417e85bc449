import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';

import type { ApiError } from '../../protocol/index.js';

/** Answers an upgrade with an HTTP error and closes (protocol §7). */
export function refuseUpgrade(stream: Duplex, error: ApiError, requestId: string): void {
  const body = JSON.stringify(error.toBody());
  const headers: Readonly<Record<string, string>> = {
    ...error.headers,
    ...(error.status === 426 ? { upgrade: 'websocket' } : {}),
    'x-request-id': requestId,
    'openai-version': '2020-10-01',
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  stream.once('finish', () => stream.destroy());
  stream.end([`HTTP/1.1 ${error.status} ${STATUS_CODES[error.status] ?? ''}`, ...lines, '', body].join('\r\n'));
}
