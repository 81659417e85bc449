import { SocketClient, type SocketEnd } from '../socket-client.js';

/** Holds sockets open through a balancer, each opened again when it is closed, until it is told to stop. */
export class HeldSockets {
  /** How sockets ended that this did not close itself. */
  readonly ends: SocketEnd[] = [];
  /** Upgrades that were refused or cut. */
  refused = 0;
  private readonly open = new Set<SocketClient>();
  private state: 'holding' | 'over' = 'holding';
  private readonly loops: readonly Promise<void>[];

  constructor(balancer: { readonly port: number }, count: number) {
    this.loops = Array.from({ length: count }, () => this.hold(balancer));
  }

  /** Closes all of them. Resolves when they are gone. */
  async close(): Promise<void> {
    this.state = 'over';
    for (const { socket } of this.open) socket.close();
    await Promise.all(this.loops);
  }

  private async hold(balancer: { readonly port: number }): Promise<void> {
    while (this.isHolding()) {
      let client: SocketClient;
      try {
        client = await SocketClient.open(balancer);
      } catch {
        this.refused += 1;
        continue;
      }
      this.open.add(client);
      if (!this.isHolding()) client.socket.close();
      const end = await client.closed;
      this.open.delete(client);
      if (this.isHolding()) this.ends.push(end);
    }
  }

  /** A method: it changes while `hold` waits, which a property's type would not say. */
  private isHolding(): boolean {
    return this.state === 'holding';
  }
}
