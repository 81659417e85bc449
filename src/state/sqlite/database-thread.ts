import type { Worker } from 'node:worker_threads';

import { Logger } from '@nestjs/common';

import { Roster } from '../../roster.js';
import { OutageLog } from '../../logging/index.js';
import { Backoff, type Clock } from '../../time/index.js';
import { StateStartError, StoreUnavailableError } from '../errors.js';
import { logDamage } from '../readable-page.js';
import type { Call, Damage, Opened, OperationName, Reply, ThreadOptions, Unread } from './calls.js';
import { explainFailure } from './errors.js';
import type { Groups, Operations } from './operations.js';
import { ThreadGroup } from './executed.js';
import { toError } from './refusals.js';
import { takeWorker } from './workers.js';

/** Pauses before a thread that has ended is started again. */
const PAUSES = { firstMs: 100, longestMs: 10_000 };

type Waiting = Pick<PromiseWithResolvers<unknown>, 'resolve' | 'reject'>;

/** The thread that has the database open, as the rest of the service uses it. It is started again if it ends. */
export class DatabaseThread {
  private readonly logger = new Logger('Sqlite');
  private readonly outages = new OutageLog(this.logger);
  private readonly backoff: Backoff;
  /** Each call has its place here as its id. */
  private waiting = new Roster<Waiting>();
  private worker: Worker | null = null;
  private isStopping = false;
  private hasFailed = false;
  private wasOpen = false;
  private calls: Call[] = [];
  /** The calls of each message that is not answered yet; messages are answered in order. */
  private sent: (readonly Call[])[] = [];

  constructor(
    private readonly options: ThreadOptions,
    private readonly clock: Clock,
  ) {
    this.backoff = new Backoff(clock, PAUSES);
  }

  /** Opens the file. Throws StateStartError. */
  async start(): Promise<void> {
    const worker = takeWorker();
    const opened = Promise.withResolvers<Opened>();
    let failure = 'the thread of the database has ended';
    worker.once('message', (message: Opened) => {
      opened.resolve(message);
      worker.on('message', (answer: readonly Reply[] | Unread | Damage) => this.receive(answer));
      worker.on('messageerror', (error) => this.receiveNothing(String(error)));
    });
    worker.on('error', (error) => (failure = String(error)));
    worker.on('exit', () => {
      opened.reject(new StateStartError(failure));
      if (this.worker === worker) this.lose(failure);
    });
    worker.postMessage(this.options);
    const result = await opened.promise;
    if (!result.isOpen) throw new StateStartError(result.message);
    this.worker = worker;
    // Logged once: a thread that is started again has the same extension.
    if (!this.wasOpen) this.logger.log(result.vectors);
    this.wasOpen = true;
  }

  /** Executes what was asked for, and closes the file. */
  async stop(): Promise<void> {
    this.isStopping = true;
    const { worker } = this;
    if (worker === null) return;
    const exited = new Promise((resolve) => worker.once('exit', resolve));
    this.send(worker);
    worker.postMessage('close');
    await exited;
  }

  /** Ends the thread without what was asked for. A statement that it executes is executed to its end before, however long that takes. */
  async abandon(): Promise<void> {
    this.isStopping = true;
    await this.worker?.terminate();
  }

  /** Asks for an operation. Calls are executed in order; those made while others are executed share a transaction. Throws StoreUnavailableError. */
  call<Name extends OperationName>(
    name: Name,
    ...args: Parameters<Operations[Name]>
  ): Promise<ReturnType<Operations[Name]>> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    if (this.worker === null || this.isStopping) reject(new StoreUnavailableError('the database is not open'));
    else {
      const id = this.waiting.add({ resolve, reject });
      this.calls.push({ id, name, args, now: this.clock.now() });
      if (this.calls.length === 1) queueMicrotask(() => this.sendNext());
    }
    return promise as Promise<ReturnType<Operations[Name]>>;
  }

  /** The methods of one store. */
  group<Name extends keyof Groups>(name: Name): ThreadGroup<Groups[Name]> {
    return new ThreadGroup(
      (method, args) =>
        this.call(`${name}.${method}` as OperationName, ...(args as Parameters<Operations[OperationName]>)),
      (read) => this.decode(read),
    );
  }

  /** Asks whether the database can be written, if there is a reason to doubt it. Throws StoreUnavailableError. */
  checkIfInDoubt(): void | Promise<void> {
    if (this.worker !== null && !this.hasFailed) return;
    return this.call('check.write').then(() => {
      this.hasFailed = false;
    });
  }

  /** Asks whether the database can be read, too. Throws StoreUnavailableError. */
  async check(): Promise<void> {
    await this.checkIfInDoubt();
    await this.call('check.read');
  }

  /** Reads what an operation has returned. Throws StoreUnavailableError for text that cannot be parsed: the file is damaged. */
  private decode<T>(read: () => T): T {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      const reason = explainFailure(error, this.options.directory);
      this.outages.warn('what is stored cannot be read', reason);
      throw new StoreUnavailableError(reason, { cause: error });
    }
  }

  /** Sends what waits once what was sent before is answered: the more calls share a transaction, the less each of them costs. */
  private sendNext(): void {
    if (this.worker !== null && this.sent.length === 0) this.send(this.worker);
  }

  private send(worker: Worker): void {
    const { calls } = this;
    if (calls.length === 0) return;
    this.calls = [];
    this.post(worker, calls);
  }

  /** Sends calls in one message; if they cannot be copied, such as values that are nested too deep, each in a message of its own. */
  private post(worker: Worker, calls: readonly Call[]): void {
    try {
      worker.postMessage(calls);
      this.sent.push(calls);
    } catch (error) {
      this.postApart(worker, calls, String(error));
    }
  }

  /** Sends calls that could not be sent together. Fails the one that cannot be sent at all. */
  private postApart(worker: Worker, calls: readonly Call[], reason: string): void {
    if (calls.length > 1) for (const call of calls) this.post(worker, [call]);
    else this.fail(calls, `a request cannot be copied to the thread of the database (${reason})`);
  }

  private fail(calls: readonly Call[], reason: string): void {
    this.outages.warn('a request to the database has failed', reason);
    for (const { id } of calls) this.waiting.take(id)?.reject(new StoreUnavailableError(reason));
  }

  /** The calls of a message were executed, but their replies cannot be read. */
  private receiveNothing(reason: string): void {
    this.fail(this.sent.shift() ?? [], `the answer of the database cannot be read (${reason})`);
    queueMicrotask(() => this.sendNext());
  }

  private receive(answer: readonly Reply[] | Unread | Damage): void {
    if ('damage' in answer) {
      logDamage(answer.damage);
      return;
    }
    const calls = this.sent.shift() ?? [];
    queueMicrotask(() => this.sendNext());
    if ('unread' in answer) {
      if (this.worker !== null) this.postApart(this.worker, calls, answer.unread);
      return;
    }
    for (const reply of answer) {
      const waiting = this.waiting.take(reply.id);
      if ('error' in reply) {
        this.hasFailed = true;
        this.outages.warn('the database has refused a request', reply.error);
        waiting?.reject(new StoreUnavailableError(reply.error));
      } else if ('refusal' in reply) waiting?.reject(toError(reply.refusal));
      else waiting?.resolve(reply.value);
    }
  }

  /** The thread has ended. */
  private lose(reason: string): void {
    this.worker = null;
    this.calls = [];
    this.sent = [];
    const { waiting } = this;
    this.waiting = new Roster();
    for (const { reject } of waiting) reject(new StoreUnavailableError(reason));
    if (this.isStopping) return;
    this.outages.warn('the database was closed', reason);
    this.reopenLater();
  }

  private reopenLater(): void {
    this.clock.schedule(this.backoff.failed(), () => {
      if (this.isStopping) return;
      this.start().then(
        () => {
          this.backoff.succeeded();
          this.logger.log('the database is open again');
          if (this.isStopping) void this.stop();
        },
        (error: unknown) => {
          this.outages.warn('the database was not opened again', String(error));
          this.reopenLater();
        },
      );
    });
  }
}
