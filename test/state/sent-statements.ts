import { setImmediate as nextLoopTurn } from 'node:timers/promises';

import { jest } from '@jest/globals';
import pg from 'pg';

/** A statement as it was given to the driver. */
export interface SentStatement {
  readonly text: string;
  readonly values?: readonly unknown[];
  /** Under which it stays prepared. */
  readonly name?: string;
}

/** In the statements that the job engine sends by itself, at any time. */
const JOBS_SCHEMA = 'antiphon_jobs';

/** Notes every statement that this process gives to the driver, until it is disposed. Each is one round trip. */
export class SentStatements implements Disposable {
  private readonly spy = jest.spyOn(pg.Client.prototype, 'query');

  /** What was sent since this was asked last. */
  take(): readonly SentStatement[] {
    const calls = this.spy.mock.calls as unknown as readonly (readonly [string | SentStatement])[];
    const sent = calls
      .map(([statement]) => (typeof statement === 'string' ? { text: statement } : statement))
      .filter(({ text, values }) => values !== undefined || !text.includes(`${JOBS_SCHEMA}.`));
    this.spy.mockClear();
    return sent;
  }

  /** Resolves when a backend that starts listens for notices: it does so in the background, on a connection of its own. */
  async whenListening(): Promise<void> {
    while (
      !this.spy.mock.calls.some(([text]: readonly unknown[]) => typeof text === 'string' && text.startsWith('LISTEN '))
    )
      await nextLoopTurn();
  }

  [Symbol.dispose](): void {
    this.spy.mockRestore();
  }
}
