import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

/** A server that hangs up on everybody without an answer. */
export interface RudeServer extends AsyncDisposable {
  /** What a providers file calls `base_url`. */
  readonly baseUrl: string;
  /** Who came so far. */
  readonly callers: number;
}

/** Starts one on a free port of the loopback interface. It hangs up as soon as it is asked something. */
export async function startRudeServer(): Promise<RudeServer> {
  let callers = 0;
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => {
      callers += 1;
      socket.resetAndDestroy();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    get callers() {
      return callers;
    },
    async [Symbol.asyncDispose]() {
      server.close();
      await once(server, 'close');
    },
  };
}
