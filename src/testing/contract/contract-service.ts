import type { NestFastifyApplication } from '@nestjs/platform-fastify';

import { AntiphonModule } from '../../antiphon.module.js';
import { configureApp } from '../../bootstrap.js';
import { createAdapter } from '../../http/index.js';
import type { ResponseObject } from '../../protocol/index.js';
import { type ModelProviderBase, ProviderRegistry } from '../../providers/index.js';
import { Clock } from '../../time/index.js';
import { requireRule } from '../events/rule.js';
import { FakeClock } from '../fake-clock.js';
import type { Answer } from './answer.js';
import type { ProviderSubject, TurnRequest } from './provider-subject.js';
import { ProviderTap } from './provider-tap.js';
import { type Transport, TRANSPORTS } from './transports.js';

const TICK_MS = 10;

/** MODEL_IDLE_TIMEOUT_MS of the suite's services. */
export const IDLE_MS = 60_000;

/** Variables of every service of the suite; they override those of the subject and the process. */
const ENVIRONMENT = {
  API_KEYS: '',
  STATE: 'memory',
  RECORD_FILE: '',
  WS_ENABLED: true,
  UNKNOWN_PARAMETERS: 'ignore',
  DRAIN_TIMEOUT_MS: 0,
  MODEL_LIST_TIMEOUT_MS: IDLE_MS,
  MODEL_ACCEPT_TIMEOUT_MS: IDLE_MS / 2,
  MODEL_IDLE_TIMEOUT_MS: IDLE_MS,
  CLIENT_STALL_TIMEOUT_MS: 2 * IDLE_MS,
};

/** Options of a request to the subject. */
export interface Question extends TurnRequest {
  readonly transport?: Transport;
  readonly signal?: AbortSignal;
}

/** The service with the subject's provider, on a free port of the loopback interface. */
export class ContractService {
  /** All data received by clients. */
  private seen = '';

  private constructor(
    readonly subject: ProviderSubject,
    private readonly app: NestFastifyApplication,
    readonly tap: ProviderTap,
    readonly clock: RunningClock,
    readonly baseURL: string,
  ) {}

  /** Starts it. Throws the errors of Nest and the subject. */
  static async start(subject: ProviderSubject): Promise<ContractService> {
    // Loaded on demand: the other parts of this kit do without Nest's test package.
    const { Test } = await import('@nestjs/testing');
    const options = await subject.options();
    const environment = { ...options.environment, ...ENVIRONMENT };
    const clock = new RunningClock();
    const builder = Test.createTestingModule({ imports: [AntiphonModule.forRoot({ ...options, environment })] });
    const module = await builder.overrideProvider(Clock).useValue(clock).compile();
    const app = module.createNestApplication<NestFastifyApplication>(createAdapter(), { logger: false });
    await configureApp(app);
    await app.listen(0, '127.0.0.1');
    return new ContractService(
      subject,
      app,
      new ProviderTap(app.get(ProviderRegistry)),
      clock,
      `${await app.getUrl()}/v1`,
    );
  }

  /** Ends a case. Throws an Error if a stream of the provider goes on, or a client has received a secret of the subject. */
  async settle(): Promise<void> {
    this.requireUnseen(this.subject.secrets ?? []);
    await this.within(this.tap.settle(), "the end of every provider's stream");
    this.seen = '';
  }

  /** Stops it, even if turns hang. */
  async close(): Promise<void> {
    await this.within(this.app.close(), 'the shutdown').finally(() => this.clock.stop());
  }

  /** The provider of the subject's model. */
  get provider(): ModelProviderBase {
    return this.app.get(ProviderRegistry).route(this.subject.model).provider;
  }

  /** Asks the subject's model, over SSE by default. The form of the answer is validated. */
  async ask(input: unknown, { transport = TRANSPORTS.SSE, signal, headers, body }: Question = {}): Promise<Answer> {
    const { model, request } = this.subject;
    const left = new AbortController();
    const answer = transport.ask({
      url: `${this.baseURL}/responses`,
      headers: { ...request?.headers, ...headers },
      body: { model, input, ...request?.body, ...body },
      signal: signal ?? left.signal,
    });
    try {
      const given = await this.within(answer, `an answer over ${transport.name}`);
      this.seen += given.seen;
      return given;
    } finally {
      left.abort();
    }
  }

  /** Asks as `ask` does, but throws an Error when the turn is refused or fails. */
  async askWell(input: unknown, question: Question = {}): Promise<ResponseObject> {
    const { response, refusal } = await this.ask(input, question);
    requireRule(response !== null, `a turn was refused: ${JSON.stringify(refusal)}`);
    const { status, error, output } = response;
    requireRule(
      status === 'completed' || status === 'incomplete',
      `a turn must be completed or incomplete, but it is ${status}: ${JSON.stringify(error)}`,
    );
    requireRule(output.length > 0, 'an answer must have at least one item');
    return response;
  }

  /** Reads a JSON resource. Throws an Error unless the status is 200. */
  async get(path: string): Promise<unknown> {
    const answer = await this.within(fetch(`${this.baseURL}${path}`), `GET ${path}`);
    const text = await answer.text();
    this.seen += text;
    requireRule(answer.status === 200, `GET ${path} answered ${answer.status}: ${text}`);
    return JSON.parse(text);
  }

  /**
   * Waits for a promise, up to the time limit of the subject. Throws an Error that names `what`. Only time in which this process could work
   * counts: the first request imports modules, which keeps a slow machine busy for seconds.
   */
  async within<T>(promise: Promise<T>, what: string): Promise<T> {
    const { patienceMs: patience = 5000 } = this.subject;
    const patienceMs = typeof patience === 'number' ? patience : patience(what);
    const late = Promise.withResolvers<never>();
    let waitedMs = 0;
    const timer = setInterval(() => {
      waitedMs += TICK_MS;
      if (waitedMs >= patienceMs) late.reject(new Error(`${what} did not come within ${patienceMs} ms`));
    }, TICK_MS);
    return Promise.race([promise, late.promise]).finally(() => clearInterval(timer));
  }

  /** Throws an Error if a client received one of these. */
  requireUnseen(secrets: readonly string[]): void {
    for (const secret of secrets)
      requireRule(!this.seen.includes(secret), 'a client received a secret of the provider');
  }
}

/** A clock that follows real time and can be advanced in addition. */
export class RunningClock extends FakeClock {
  private readonly startedAt = performance.now();
  private passedMs = 0;
  private readonly ticker = setInterval(() => this.tick(), TICK_MS).unref();

  constructor() {
    super(Date.now());
  }

  /** Stops following real time. */
  stop(): void {
    clearInterval(this.ticker);
  }

  private tick(): void {
    const passedMs = Math.floor(performance.now() - this.startedAt);
    this.advance(passedMs - this.passedMs);
    this.passedMs = passedMs;
  }
}
