import { Redis as Client } from 'ioredis';

import { StoreUnavailableError } from '../errors.js';
import type { Command } from './script.js';

/** The connection to Redis for requests. Methods throw StoreUnavailableError while it is unavailable. */
export class Redis {
  private readonly client: Client;

  constructor(url: string) {
    this.client = new Client(url, { lazyConnect: true });
  }

  /** The driver's connection, for a library that brings its own commands. */
  get connection(): Client {
    return this.client;
  }

  async open(): Promise<void> {
    await this.client.connect();
  }

  async close(): Promise<void> {
    await this.client.quit();
  }

  /** Sends commands together, each to the node of its keys, and returns their replies in order. */
  async read(...commands: readonly Command[]): Promise<readonly unknown[]> {
    return this.send(commands);
  }

  /** The same for commands that write; resolves when they are stored as safely as configured. Commands are repeated when a connection breaks: they must be idempotent. */
  async write(...commands: readonly Command[]): Promise<readonly unknown[]> {
    return this.send(commands);
  }

  private async send(commands: readonly Command[]): Promise<readonly unknown[]> {
    try {
      return await Promise.all(
        commands.map((command) => {
          if (!('script' in command)) return this.client.call(command[0], ...command.slice(1));
          const { script, keys, args } = command;
          return this.client.eval(script.text, keys.length, ...keys, ...args);
        }),
      );
    } catch (error) {
      throw new StoreUnavailableError(String(error), { cause: error });
    }
  }
}
