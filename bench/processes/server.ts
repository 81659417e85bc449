import { Child } from './child.ts';
import type { RoundTripsAnswer, RoundTripsQuestion } from './messages.ts';

const ENVIRONMENT = { PORT: '0', HOST: '127.0.0.1', LOG_LEVEL: 'error' };

/** A server under load. */
export class Server extends Child {
  private address = '';

  /** Starts a module that writes `… listens on <URL>`, and waits for that. */
  static start(name: string, module: URL, environment?: Readonly<Record<string, string>>): Promise<Server> {
    return this.launch(new Server(name, module, { ...ENVIRONMENT, ...environment }));
  }

  /** Starts a module as `node <module>` does, with nothing of the benchmark in it: it can only be asked over HTTP. */
  static startBare(name: string, module: URL): Promise<Server> {
    return this.launch(new Server(name, module, ENVIRONMENT, []));
  }

  private static async launch(server: Server): Promise<Server> {
    server.address = await server.orEnd(server.listening());
    return server;
  }

  /** Where it listens, without a slash at the end. */
  get origin(): string {
    return this.address;
  }

  /** The same for WebSocket. */
  get socketOrigin(): string {
    return this.address.replace('http', 'ws');
  }

  /** How often the server has asked its database something and waited for the answer, since its start. */
  async roundTrips(): Promise<number> {
    const question: RoundTripsQuestion = { type: 'round trips' };
    return (await this.ask<RoundTripsAnswer>(question)).roundTrips;
  }

  private listening(): Promise<string> {
    return new Promise((resolve) => {
      let text = '';
      this.process.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
        const origin = /listens on (\S+)\n/.exec(text)?.[1];
        if (origin !== undefined) resolve(origin);
      });
    });
  }
}
