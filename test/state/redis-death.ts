import type { Command, Redis as Client } from 'ioredis';

import type { RedisBackend } from '../../src/state/redis/index.js';
import { redisOf } from './redis-fixture.js';

/** A part of the driver: what is sent together, of which Redis gets all or nothing. */
type Together = object | undefined;

/** The death of a process after some of its commands: what it sends then does not reach Redis any more. */
export class Death {
  private readonly death = Promise.withResolvers<'died'>();
  private readonly sent: Promise<unknown>[] = [];
  private readonly doomed = new WeakMap<object, boolean>();
  private left: number;

  /** A backend dies when it has sent so many commands from now on. */
  constructor(backend: RedisBackend, commands: number) {
    this.left = commands;
    const client = redisOf(backend).client as Client;
    const send = client.sendCommand.bind(client);
    client.sendCommand = (command: Command, together: Together) => {
      if (this.takes(together)) return this.note(send(command, together as never));
      command.reject(new Error('Connection is closed.'));
      return command.promise;
    };
  }

  /** Does something until it has ended or the process has died; then Redis has done all that was sent. */
  async during(work: Promise<unknown>): Promise<'done' | 'failed' | 'died'> {
    const outcome = work.then(
      () => 'done' as const,
      () => 'failed' as const,
    );
    const first = await Promise.race([outcome, this.death.promise]);
    await Promise.allSettled(this.sent);
    // What it did not wait for may have been acknowledged nevertheless.
    return first === 'died' ? Promise.race([outcome, Promise.resolve(first)]) : first;
  }

  get hasHappened(): boolean {
    return this.left < 0;
  }

  private takes(together: Together): boolean {
    const known = together && this.doomed.get(together);
    if (known !== undefined) return !known;
    this.left -= 1;
    if (together !== undefined) this.doomed.set(together, this.hasHappened);
    if (this.hasHappened) this.death.resolve('died');
    return !this.hasHappened;
  }

  private note(reply: unknown): unknown {
    this.sent.push(Promise.resolve(reply));
    return reply;
  }
}
