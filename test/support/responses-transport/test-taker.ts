import type { AnswerTaker } from '../../../src/providers/responses/transport/exchange.js';
import { TestRoom } from '../test-sink.js';

/** Keeps the events of an answer, those between two flushes as a batch. */
export class TestTaker extends TestRoom<readonly string[]> implements AnswerTaker {
  private open: string[] = [];

  constructor(private readonly isTerminal = (json: string): boolean => json.includes('response.completed')) {
    super();
  }

  get events(): readonly string[] {
    return [...this.batches.flat(), ...this.open];
  }

  take(json: string): boolean {
    this.open.push(json);
    return this.isTerminal(json);
  }

  flush(): Promise<void> | undefined {
    const batch = this.open;
    this.open = [];
    return this.keep(batch);
  }

  /** Resolves when so many events were flushed. */
  async taken(count: number): Promise<void> {
    await this.arrivals.until(() => this.batches.flat()[count - 1]);
  }
}
