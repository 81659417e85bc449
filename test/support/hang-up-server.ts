import { createServer } from 'node:net';

import { LocalServer } from './local-server.js';

/** A server that hangs up on everybody without an answer, as soon as it is asked something. */
export class HangUpServer extends LocalServer {
  /** First lines of what it was asked, such as `CONNECT example.com:443 HTTP/1.1`. */
  readonly requests: string[] = [];

  constructor() {
    super(
      createServer((socket) => {
        socket.once('data', (bytes) => {
          this.requests.push(bytes.toString('latin1').split('\r\n', 1)[0] ?? '');
          socket.resetAndDestroy();
        });
      }),
    );
  }

  /** Starts one. */
  static start(): Promise<HangUpServer> {
    return new HangUpServer().listen();
  }

  /** The environment of a program that has it as its proxy: the program reaches this machine only. */
  get proxyVariables(): Readonly<Record<string, string>> {
    return { HTTP_PROXY: this.origin, HTTPS_PROXY: this.origin, ALL_PROXY: this.origin, NO_PROXY: '127.0.0.1' };
  }
}
