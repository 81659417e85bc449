import { Worker } from 'node:worker_threads';

import { StateStartError, StoreUnavailableError } from '../errors.js';
import type { Call, Opened, OperationName, Reply, ThreadOptions } from './calls.js';
import type { Operations } from './operations.js';

type Waiting = Pick<PromiseWithResolvers<unknown>, 'resolve' | 'reject'>;

/** The thread that has the database open, as the rest of the service uses it. */
export class DatabaseThread {
  private worker: Worker | null = null;
  private readonly waiting = new Map<number, Waiting>();
  private calls: Call[] = [];
  private lastId = 0;

  /** Opens the file. Throws StateStartError. */
  async start(options: ThreadOptions): Promise<void> {
    const worker = new Worker(new URL('./thread.js', import.meta.url), { workerData: options });
    const opened = Promise.withResolvers<Opened>();
    worker.once('message', (message: Opened) => {
      opened.resolve(message);
      worker.on('message', (replies: readonly Reply[]) => this.receive(replies));
    });
    worker.on('error', (error) => {
      opened.reject(error);
      this.fail(String(error));
    });
    worker.on('exit', () => this.fail('the thread of the database has ended'));
    const result = await opened.promise;
    if (!result.isOpen) throw new StateStartError(result.message);
    this.worker = worker;
  }

  /** Executes what was asked for, and closes the file. */
  async stop(): Promise<void> {
    const { worker } = this;
    if (worker === null) return;
    const exited = new Promise((resolve) => worker.once('exit', resolve));
    this.send();
    worker.postMessage('close');
    await exited;
  }

  /** Asks for an operation. Calls are executed in order; those of one tick share a transaction. Throws StoreUnavailableError. */
  call<Name extends OperationName>(
    name: Name,
    ...args: Parameters<Operations[Name]>
  ): Promise<ReturnType<Operations[Name]>> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    if (this.worker === null) reject(new StoreUnavailableError('the database is not open'));
    else {
      this.lastId += 1;
      this.waiting.set(this.lastId, { resolve, reject });
      if (this.calls.push({ id: this.lastId, name, args }) === 1) queueMicrotask(() => this.send());
    }
    return promise as Promise<ReturnType<Operations[Name]>>;
  }

  private send(): void {
    if (this.calls.length === 0) return;
    this.worker?.postMessage(this.calls);
    this.calls = [];
  }

  private receive(replies: readonly Reply[]): void {
    for (const reply of replies) {
      const waiting = this.waiting.get(reply.id);
      this.waiting.delete(reply.id);
      if ('error' in reply) waiting?.reject(new StoreUnavailableError(reply.error));
      else waiting?.resolve(reply.value);
    }
  }

  private fail(reason: string): void {
    this.worker = null;
    for (const { reject } of this.waiting.values()) reject(new StoreUnavailableError(reason));
    this.waiting.clear();
  }
}
