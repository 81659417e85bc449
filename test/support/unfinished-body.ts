import { type IncomingMessage, request as openRequest } from 'node:http';
import { text } from 'node:stream/consumers';

/** A request whose last byte is not sent. */
export interface UnfinishedBody {
  /** Resolves with the answer: whoever gets one before the body is complete was refused. */
  readonly answer: Promise<{ readonly status: number; readonly retryAfter: string | undefined; readonly text: string }>;
  /** Sends the last byte. */
  finish(): void;
  /** Goes away without a word. */
  vanish(): void;
}

/** Posts all of a body but its last byte to `/v1/responses`. */
export function sendUnfinished(
  { port }: { readonly port: number },
  body: Buffer,
  headers: Readonly<Record<string, string>> = {},
): UnfinishedBody {
  const request = openRequest({
    port,
    host: '127.0.0.1',
    method: 'POST',
    path: '/v1/responses',
    headers: { 'content-type': 'application/json', 'content-length': String(body.length), ...headers },
  });
  const answer = new Promise<IncomingMessage>((resolve, reject) => {
    request.once('response', resolve);
    request.once('error', reject);
  }).then(async (message) => ({
    status: message.statusCode ?? 0,
    retryAfter: message.headers['retry-after'],
    text: await text(message),
  }));
  answer.catch(() => undefined);
  request.write(body.subarray(0, -1));
  return { answer, finish: () => request.end(body.subarray(-1)), vanish: () => request.destroy() };
}
