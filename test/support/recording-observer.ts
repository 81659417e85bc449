import { type DynamicModule, Module } from '@nestjs/common';

import { TurnObserver, type TurnRecord } from '../../src/index.js';
import { Notifier } from './notifier.js';

/** Remembers how every turn ended, and lets a test wait for it. */
export class RecordingObserver extends TurnObserver {
  readonly records: TurnRecord[] = [];
  private readonly changes = new Notifier();

  override settled(record: TurnRecord): void {
    this.records.push(record);
    this.changes.notify();
  }

  /** Resolves with all records as soon as there are `count` of them. */
  whenSettled(count: number): Promise<readonly TurnRecord[]> {
    return this.changes.until(() => (this.records.length < count ? undefined : this.records));
  }

  /** Begins anew, for a further test of a service whose turns have all ended. */
  forget(): void {
    this.records.length = 0;
  }

  /** A module that gives this observer to the service. */
  asModule(): DynamicModule {
    return { module: ObserverModule, providers: [{ provide: RecordingObserver, useValue: this }] };
  }
}

@Module({})
class ObserverModule {}
