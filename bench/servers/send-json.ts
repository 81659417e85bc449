import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';

/** Sends an answer without streaming, with as many headers as the service sends. */
export function sendJson(reply: ServerResponse, status: number, body: string): void {
  reply.writeHead(status, {
    'x-request-id': `req_${randomUUID()}`,
    'openai-version': '2020-10-01',
    'openai-processing-ms': '0',
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
  });
  reply.end(body);
}
