import type { IncomingMessage } from 'node:http';

/** Reads the body of a request to its end. */
export function readText(request: IncomingMessage, take: (text: string) => void): void {
  let text = '';
  request.setEncoding('utf8');
  request.on('data', (chunk: string) => (text += chunk));
  request.once('end', () => take(text));
}
