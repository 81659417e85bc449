import { Child } from './child.ts';

/** A server under load. */
export class Server extends Child {
  private address = '';

  /** Starts a module that writes `… listens on <URL>`, and waits for that. */
  static async start(name: string, module: URL): Promise<Server> {
    const server = new Server(name, module, { PORT: '0', HOST: '127.0.0.1', LOG_LEVEL: 'error' });
    server.address = await server.orEnd(server.listening());
    return server;
  }

  /** Where it listens, without a slash at the end. */
  get origin(): string {
    return this.address;
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
