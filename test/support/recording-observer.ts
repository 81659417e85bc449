import { type DynamicModule, Module } from '@nestjs/common';

import { TurnObserver, type TurnRecord } from '../../src/index.js';

/** Remembers how every turn ended, and lets a test wait for it. */
export class RecordingObserver extends TurnObserver {
  readonly records: TurnRecord[] = [];
  private waiting: (() => void)[] = [];

  override settled(record: TurnRecord): void {
    this.records.push(record);
    for (const wake of this.waiting.splice(0)) wake();
  }

  /** Resolves with all records as soon as there are `count` of them. */
  async whenSettled(count: number): Promise<readonly TurnRecord[]> {
    while (this.records.length < count) await new Promise<void>((resolve) => this.waiting.push(resolve));
    return this.records;
  }

  /** A module that gives this observer to the service. */
  asModule(): DynamicModule {
    return { module: ObserverModule, providers: [{ provide: RecordingObserver, useValue: this }] };
  }
}

@Module({})
class ObserverModule {}
