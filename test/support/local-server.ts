import { once } from 'node:events';
import type { AddressInfo, Server, Socket } from 'node:net';

/** A server on the loopback interface that knows its connections. With it end those that are open. */
export class LocalServer implements AsyncDisposable {
  /** Connections so far. */
  connections = 0;
  private readonly open = new Set<Socket>();
  private readonly numbers = new WeakMap<object, number>();

  /** A TLS server hands requests another socket than that of its connection: the one of `secureConnection`. */
  constructor(
    protected readonly server: Server,
    event: 'connection' | 'secureConnection' = 'connection',
  ) {
    server.prependListener(event, (socket: Socket) => {
      this.connections += 1;
      this.numbers.set(socket, this.connections);
      this.open.add(socket);
      socket.once('close', () => this.open.delete(socket)).on('error', () => undefined);
    });
  }

  /** Listens on a port; 0 for any free one. */
  async listen(port = 0): Promise<this> {
    this.server.listen(port, '127.0.0.1');
    await once(this.server, 'listening');
    return this;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get origin(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** What a providers file calls `base_url`. */
  get baseUrl(): string {
    return `${this.origin}/v1`;
  }

  /** Connections that are open now. */
  get openConnections(): number {
    return this.open.size;
  }

  /** Which connection a socket is, counted from 1. */
  numberOf(socket: Socket): number {
    return this.numbers.get(socket) ?? 0;
  }

  /** Closes the connections that are open, and takes new ones. */
  dropConnections(): void {
    for (const socket of this.open) socket.destroy();
  }

  /** Closes connections and port; whoever connects is refused. */
  async close(): Promise<void> {
    if (!this.server.listening) return;
    const closed = once(this.server, 'close');
    this.server.close();
    this.dropConnections();
    await closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
