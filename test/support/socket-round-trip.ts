import { once } from 'node:events';

import type { SocketClient } from './socket-client.js';

/**
 * Resolves when the service has taken every frame that was sent before, and the client every frame that was written until
 * then: pings and pongs keep their place among messages.
 */
export async function roundTrip(client: SocketClient): Promise<void> {
  const answered = once(client.socket, 'pong');
  client.socket.ping();
  await answered;
}
