import { once } from 'node:events';

import { WebSocket } from 'ws';

import type { ServiceProcess } from './process-service.js';

/** What a process needs to be inspected. */
export const INSPECTED = { NODE_OPTIONS: '--inspect=127.0.0.1:0' } as const;

interface Reply {
  readonly id?: number;
  readonly result?: Readonly<Record<string, unknown>>;
}

/** Looks into a process from outside, over the protocol of its debugger. */
export class Inspector implements AsyncDisposable {
  private readonly waiting = new Map<number, (reply: Reply) => void>();
  private calls = 0;

  private constructor(private readonly socket: WebSocket) {
    socket.on('message', (data: Buffer) => {
      const reply = JSON.parse(data.toString()) as Reply;
      if (reply.id !== undefined) this.waiting.get(reply.id)?.(reply);
    });
  }

  /** Of a process that was started with INSPECTED. */
  static async of({ written, output }: ServiceProcess): Promise<Inspector> {
    const address = /Debugger listening on (ws:\S+)/;
    await written(address);
    const socket = new WebSocket(address.exec(output())?.[1] ?? '');
    await once(socket, 'open');
    return new Inspector(socket);
  }

  /** Bytes of the heap that are in use after garbage was collected. */
  async heapBytes(): Promise<number> {
    // What finalizers release is garbage of the next collection.
    for (let round = 0; round < 3; round += 1) await this.call('HeapProfiler.collectGarbage');
    return Number((await this.call('Runtime.getHeapUsage'))['usedSize']);
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.socket.terminate();
    return Promise.resolve();
  }

  private async call(method: string): Promise<Readonly<Record<string, unknown>>> {
    const id = (this.calls += 1);
    const answered = new Promise<Reply>((resolve) => this.waiting.set(id, resolve));
    this.socket.send(JSON.stringify({ id, method }));
    const { result } = await answered;
    this.waiting.delete(id);
    return result ?? {};
  }
}
