import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

import { onStablePort } from './ports.js';

interface Link {
  readonly client: Socket;
  target?: Socket;
}

/** A proxy in front of a port of this machine, through which a test takes away what is behind it and gives it back. */
export class TcpProxy implements AsyncDisposable {
  private readonly links = new Set<Link>();
  private stalled = false;
  private quota = Infinity;

  private constructor(
    private readonly server: Server,
    private readonly targetPort: number,
    /** Stays the same, also while the proxy refuses connections. */
    readonly port: number,
  ) {
    server.on('connection', (client) => this.accept(client));
  }

  /** Opens a proxy that forwards. */
  static open(targetPort: number): Promise<TcpProxy> {
    return onStablePort(async (port) => {
      const server = createServer({ allowHalfOpen: true });
      await listen(server, port);
      return new TcpProxy(server, targetPort, (server.address() as AddressInfo).port);
    });
  }

  /** Destroys every connection and refuses new ones, as a machine whose server has died. */
  async cut(): Promise<void> {
    if (!this.server.listening) return;
    const closed = once(this.server, 'close');
    this.server.close();
    for (const { client, target } of this.links) {
      client.resetAndDestroy();
      target?.destroy();
    }
    await closed;
  }

  /** Resets every connection once so many more bytes of answers have passed, in the middle of an answer if so it happens. */
  breakAfter(bytes: number): void {
    this.quota = bytes;
  }

  /** Accepts connections and holds them, those that are open included: nothing is forwarded, as on a broken network. */
  stall(): void {
    this.stalled = true;
    for (const { client, target } of this.links) {
      client.unpipe();
      target?.unpipe();
    }
  }

  /** Forwards again, also what was held. */
  async restore(): Promise<void> {
    this.stalled = false;
    for (const link of this.links) this.forward(link);
    if (!this.server.listening) await listen(this.server, this.port);
  }

  close(): Promise<void> {
    return this.cut();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  private accept(client: Socket): void {
    const link = { client };
    this.links.add(link);
    client.once('close', () => this.links.delete(link));
    client.on('error', () => undefined);
    if (!this.stalled) this.forward(link);
  }

  private forward(link: Link): void {
    const { client } = link;
    const target = (link.target ??= this.connectTarget(client));
    client.pipe(target).pipe(client);
  }

  private connectTarget(client: Socket): Socket {
    const target = connect({ port: this.targetPort, host: '127.0.0.1', allowHalfOpen: true });
    tieSockets(client, target);
    target.on('data', (chunk) => this.count((chunk as Buffer).length));
    return target;
  }

  private count(bytes: number): void {
    this.quota -= bytes;
    if (this.quota > 0) return;
    this.quota = Infinity;
    for (const { client, target } of this.links) {
      client.resetAndDestroy();
      target?.destroy();
    }
  }
}

/** When one of two sockets breaks, the other is destroyed. An orderly end is left to whoever pipes them. */
export function tieSockets(one: Socket, other: Socket): void {
  one.on('error', () => other.destroy());
  other.on('error', () => one.destroy());
}

async function listen(server: Server, port: number): Promise<void> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
}
