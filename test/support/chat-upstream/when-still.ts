import { NetworkFence } from '../network-fence.js';

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
