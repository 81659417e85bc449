import { Child, EXEC_ARGV, START_FLAGS } from './child.ts';
import type { CountAnswer, CountQuestion, RoundTripsAnswer, RoundTripsQuestion } from './messages.ts';

/** Cases that compare backends name another STATE. */
const ENVIRONMENT = { PORT: '0', HOST: '127.0.0.1', LOG_LEVEL: 'error', STATE: 'memory' };

/** A young generation large enough that nothing is freed while bytes are counted. The last of these flags takes precedence. */
const COUNTED_ARGV = [
  ...EXEC_ARGV,
  ...['--import', new URL('report-turn-cost.ts', import.meta.url).href],
  ...['--min-semi-space-size=256', '--max-semi-space-size=256'],
];

/** A server under load. */
export class Server extends Child {
  private address = '';

  /** Starts a module and waits until it writes `… listens on <URL>`. */
  static start(name: string, module: URL, environment?: Readonly<Record<string, string>>): Promise<Server> {
    return this.launch(new Server(name, module, { ...ENVIRONMENT, ...environment }));
  }

  /** Starts a module as `npm start` does, without benchmark code, so that it can only be measured from outside. */
  static startBare(name: string, module: URL): Promise<Server> {
    return this.launch(new Server(name, module, ENVIRONMENT, START_FLAGS));
  }

  /** Starts a module whose promises and bytes can be counted. */
  static startCounted(name: string, module: URL): Promise<Server> {
    return this.launch(new Server(name, module, ENVIRONMENT, COUNTED_ARGV));
  }

  private static async launch(server: Server): Promise<Server> {
    server.address = await server.orEnd(server.listening());
    return server;
  }

  /** HTTP origin, without a trailing slash. */
  get origin(): string {
    return this.address;
  }

  /** WebSocket origin. */
  get socketOrigin(): string {
    return this.address.replace('http', 'ws');
  }

  /** Number of database round trips since start. */
  async roundTrips(): Promise<number> {
    const question: RoundTripsQuestion = { type: 'round trips' };
    return (await this.ask<RoundTripsAnswer>(question)).roundTrips;
  }

  /** Promises or heap bytes that the server creates while `run` is running. Throws an Error if memory was freed meanwhile. */
  async count(what: CountQuestion['what'], run: () => Promise<unknown>): Promise<number> {
    const question = { type: 'count', what } as const;
    await this.ask<CountAnswer>({ ...question, step: 'begin' });
    await run();
    const { count } = await this.ask<CountAnswer>({ ...question, step: 'end' });
    if (count === null) throw new Error('memory was freed while bytes were counted: use fewer turns');
    return count;
  }

  private listening(): Promise<string> {
    return new Promise((resolve) => {
      let text = '';
      this.process.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
        const origin = /listens on (\S+)(?: .*)?\n/.exec(text)?.[1];
        if (origin !== undefined) resolve(origin);
      });
    });
  }
}
