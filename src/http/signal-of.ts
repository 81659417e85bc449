import type { FastifyReply } from 'fastify';

/** Aborts when the client leaves before it is answered, or has left already. */
export function signalOf({ raw }: FastifyReply): AbortSignal {
  const controller = new AbortController();
  if (raw.destroyed) controller.abort();
  raw.once('close', () => controller.abort());
  return controller.signal;
}
