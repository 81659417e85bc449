import { jest } from '@jest/globals';

import { Redis } from '../../src/state/redis/redis.js';
import type { Command } from '../../src/state/redis/script.js';

/** Notes what this process asks Redis, until it is disposed. Each call is one round trip. */
export class RoundTrips implements Disposable {
  private readonly spies = [jest.spyOn(Redis.prototype, 'read'), jest.spyOn(Redis.prototype, 'write')];

  /** How many there were since this was asked last. */
  take(): number {
    const count = this.spies.reduce((total, { mock }) => total + mock.calls.length, 0);
    for (const spy of this.spies) spy.mockClear();
    return count;
  }

  [Symbol.dispose](): void {
    for (const spy of this.spies) spy.mockRestore();
  }
}

/** Sends every write a second time, as after a connection that broke before its reply, until it is disposed. */
export function repeatWrites(): Disposable {
  // Called with the connection that writes.
  const write: (this: Redis, ...commands: readonly Command[]) => Promise<readonly unknown[]> = Reflect.get(
    Redis.prototype,
    'write',
  );
  const spy = jest.spyOn(Redis.prototype, 'write').mockImplementation(async function (this: Redis, ...commands) {
    await write.apply(this, commands);
    return write.apply(this, commands);
  });
  return { [Symbol.dispose]: () => spy.mockRestore() };
}
