import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';

/** A proxy that leads nowhere: whoever uses it reaches this machine only, and what it wanted beyond that is known. */
export class NoWay {
  /** First lines of the requests for what is elsewhere, such as `CONNECT example.com:443 HTTP/1.1`. */
  readonly wanted: string[] = [];

  private constructor(private readonly server: Server) {
    server.on('connection', (socket) => {
      socket.on('error', () => undefined);
      socket.once('data', (bytes) => {
        this.wanted.push(bytes.toString('latin1').split('\r\n', 1)[0] ?? '');
        socket.destroy();
      });
    });
  }

  /** Opens one on a free port of the loopback interface. */
  static async open(): Promise<NoWay> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new NoWay(server);
  }

  /** The environment of a program that has to use it. */
  get variables(): Readonly<Record<string, string>> {
    const url = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
    return { HTTP_PROXY: url, HTTPS_PROXY: url, ALL_PROXY: url, NO_PROXY: '127.0.0.1' };
  }

  /** Closes it. */
  async close(): Promise<void> {
    this.server.close();
    await once(this.server, 'close');
  }
}
