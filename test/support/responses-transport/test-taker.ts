import type { AnswerTaker } from '../../../src/providers/responses/transport/exchange.js';
import { Notifier } from '../notifier.js';

/** Keeps the events of an answer. A test says when it can take no more. */
export class TestTaker implements AnswerTaker {
  /** The events between two flushes. */
  readonly batches: string[][] = [];
  private open: string[] = [];
  private room: PromiseWithResolvers<void> | null = null;
  private readonly changes = new Notifier();

  constructor(private readonly isTerminal = (json: string): boolean => json.includes('response.completed')) {}

  get events(): readonly string[] {
    return [...this.batches.flat(), ...this.open];
  }

  take(json: string): boolean {
    this.open.push(json);
    return this.isTerminal(json);
  }

  flush(): Promise<void> | undefined {
    this.batches.push(this.open);
    this.open = [];
    this.changes.notify();
    return this.room?.promise;
  }

  /** From now on every flush has to wait. */
  fill(): void {
    this.room = Promise.withResolvers();
  }

  /** Lets go on what waits. */
  drain(): void {
    this.room?.resolve();
    this.room = null;
  }

  /** Resolves when so many events were flushed. */
  async taken(count: number): Promise<void> {
    await this.changes.until(() => this.batches.flat()[count - 1]);
  }
}
