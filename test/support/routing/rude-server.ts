import { createServer } from 'node:net';

import { LocalServer } from '../local-server.js';

/** A server that hangs up on everybody without an answer, as soon as it is asked something. */
export class RudeServer extends LocalServer {
  /** Who came so far. */
  callers = 0;

  constructor() {
    super(
      createServer((socket) => {
        socket.once('data', () => {
          this.callers += 1;
          socket.resetAndDestroy();
        });
      }),
    );
  }
}

/** Starts one. */
export function startRudeServer(): Promise<RudeServer> {
  return new RudeServer().listen();
}
