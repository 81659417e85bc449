import { once } from 'node:events';

import { WebSocket } from 'ws';

/** The beginning of the event that completes a turn. */
export const COMPLETED = '{"type":"response.completed"';

/** Opens a socket without compression or validation, because the generator must be faster than the servers. */
export async function openSocket(url: string): Promise<WebSocket> {
  const socket = new WebSocket(url, { perMessageDeflate: false, skipUTF8Validation: true });
  await once(socket, 'open');
  return socket;
}
