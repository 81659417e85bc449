import type { FastifyReply } from 'fastify';

/** Headers a provider may send to the client: vendor headers, never those that shape the HTTP message itself. */
const VENDOR_HEADER = /^x-[a-z0-9-]+$/;

/** A signal that aborts when the client goes away before it has its whole answer. */
export function whenClientGone(reply: FastifyReply): AbortSignal {
  const aborter = new AbortController();
  // On the response: the request closes as soon as its body is read.
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) aborter.abort();
  });
  return aborter.signal;
}

/** Puts a provider's headers on the reply, as far as they are vendor headers. */
export function forwardHeaders(reply: FastifyReply, headers: Readonly<Record<string, string>>): void {
  if (reply.raw.headersSent) return;
  for (const [name, value] of Object.entries(headers)) {
    if (VENDOR_HEADER.test(name.toLowerCase()) && typeof value === 'string' && !/[^\t\x20-\x7e]/.test(value)) {
      void reply.header(name, value);
    }
  }
}
