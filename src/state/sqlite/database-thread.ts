import type { Worker } from 'node:worker_threads';

import { Logger } from '@nestjs/common';

import { Roster } from '../../roster.js';
import { OutageLog } from '../../logging/index.js';
import { Backoff, type Clock } from '../../time/index.js';
import { StateStartError, StoreUnavailableError } from '../errors.js';
import type { Call, Opened, OperationName, Reply, ThreadOptions } from './calls.js';
import { explainFailure } from './explain-error.js';
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
  /** Whether calls were sent that are not answered yet. */
  private isExecuting = false;

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
      worker.on('message', (replies: readonly Reply[]) => this.receive(replies));
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
    if (this.worker !== null && !this.isExecuting) this.send(this.worker);
  }

  private send(worker: Worker): void {
    const { calls } = this;
    if (calls.length === 0) return;
    this.calls = [];
    this.isExecuting = true;
    worker.postMessage(calls);
  }

  private receive(replies: readonly Reply[]): void {
    this.isExecuting = false;
    queueMicrotask(() => this.sendNext());
    for (const reply of replies) {
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
    this.isExecuting = false;
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
