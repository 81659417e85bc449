import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/**
 * Tells when what is on its way within this machine has arrived: a byte goes the same ways, through the kernel to a socket of this
 * process and through the threads that compress. Turns of the event loop alone are quick where the machine has no time for the kernel.
 */
class NetworkFence implements AsyncDisposable {
  private constructor(
    private readonly server: Server,
    private readonly near: Socket,
    private readonly far: Socket,
  ) {}

  static async open(): Promise<NetworkFence> {
    const server = createServer().listen(0, '127.0.0.1');
    const accepted = once(server, 'connection');
    await once(server, 'listening');
    const near = connect((server.address() as AddressInfo).port, '127.0.0.1');
    const [far] = (await accepted) as [Socket];
    return new NetworkFence(server, near, far);
  }

  /** Resolves when what was sent before, to a socket or a thread, has arrived and was handled; what that sends may be on its way. */
  async pass(): Promise<void> {
    const arrived = once(this.far, 'data');
    this.near.write('x');
    await Promise.all([arrived, stat('/')]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    for (const socket of [this.near, this.far]) socket.destroy();
    await closed;
  }
}

/** More hops than a piece takes from socket to socket within this process. */
const HOPS = 30;

/** Resolves when a number has not changed while pieces had the time for many hops: nothing is on the way any more. */
export async function whenStill(read: () => number): Promise<void> {
  await using fence = await NetworkFence.open();
  for (let still = 0, last = read(); still < HOPS; still += 1) {
    await fence.pass();
    if (read() !== last) still = 0;
    last = read();
  }
}
