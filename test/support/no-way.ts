import { createServer } from 'node:net';

import { LocalServer } from './local-server.js';

/** A proxy that leads nowhere: whoever uses it reaches this machine only, and what it wanted beyond that is known. */
export class NoWay extends LocalServer {
  /** First lines of the requests for what is elsewhere, such as `CONNECT example.com:443 HTTP/1.1`. */
  readonly wanted: string[] = [];

  constructor() {
    super(
      createServer((socket) => {
        socket.once('data', (bytes) => {
          this.wanted.push(bytes.toString('latin1').split('\r\n', 1)[0] ?? '');
          socket.destroy();
        });
      }),
    );
  }

  /** Opens one. */
  static open(): Promise<NoWay> {
    return new NoWay().listen();
  }

  /** The environment of a program that has to use it. */
  get variables(): Readonly<Record<string, string>> {
    return { HTTP_PROXY: this.origin, HTTPS_PROXY: this.origin, ALL_PROXY: this.origin, NO_PROXY: '127.0.0.1' };
  }
}
