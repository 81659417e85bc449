import { once } from 'node:events';

import { WebSocket } from 'ws';

/** What begins the event that ends a turn well. */
export const COMPLETED = '{"type":"response.completed"';

/** Opens a socket that compresses and checks nothing: the generator must be faster than the servers. */
export async function openSocket(url: string): Promise<WebSocket> {
  const socket = new WebSocket(url, { perMessageDeflate: false, skipUTF8Validation: true });
  await once(socket, 'open');
  return socket;
}
