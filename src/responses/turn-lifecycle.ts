import { Injectable } from '@nestjs/common';

import type { TerminalStatus, Usage } from '../protocol/index.js';
import { Clock } from '../time/index.js';
import { Admission } from './admission.js';
import type { AdmittedTurn } from './admitted-turn.js';
import { RunningTurns } from './running-turns.js';
import { TurnObservers, type TurnRecord } from './turn-observer.js';

/** A turn from its admission to its end. Whatever happens in between, `settle` is called once. */
export interface LiveTurn {
  /** Aborts when the turn is to stop, whoever wants it. */
  readonly signal: AbortSignal;
  /** The model has been silent too long. */
  timeOut(): void;
  chose(providerName: string): void;
  refused(code: string | null): void;
  ended(status: TerminalStatus, usage: Usage | null, errorCode: string | null): void;
  /** Stops what may still run for the turn, gives its place back and tells the observers. */
  settle(): void;
}

/** Lets turns in and sees them out: admission, the list of running turns, and the observers. */
@Injectable()
export class TurnLifecycle {
  constructor(
    private readonly admission: Admission,
    private readonly runningTurns: RunningTurns,
    private readonly observers: TurnObservers,
    private readonly clock: Clock,
  ) {}

  /** Starts a turn that ends when `clientGone` aborts. Throws ApiError when it may not start. */
  async begin(turn: AdmittedTurn, clientGone: AbortSignal): Promise<LiveTurn> {
    const startedAt = this.clock.now();
    const running = this.runningTurns.begin(turn.responseId);
    let record: Omit<TurnRecord, 'durationMs'> = {
      responseId: turn.responseId,
      caller: turn.caller,
      model: turn.settings.model,
      provider: null,
      status: 'disconnected',
      usage: null,
      errorCode: null,
    };
    let release = (): void => undefined;
    const onClientGone = (): void => running.stop('disconnect');
    const settle = (): void => {
      clientGone.removeEventListener('abort', onClientGone);
      running.stop('disconnect');
      this.runningTurns.end(running);
      release();
      this.observers.settled({ ...record, durationMs: this.clock.now() - startedAt });
    };
    if (clientGone.aborted) onClientGone();
    clientGone.addEventListener('abort', onClientGone);
    try {
      release = await this.admission.acquire(turn);
    } catch (error) {
      record = { ...record, status: 'refused' };
      settle();
      throw error;
    }
    return {
      signal: running.signal,
      timeOut: () => running.stop('timeout'),
      chose: (provider) => (record = { ...record, provider }),
      refused: (errorCode) => (record = { ...record, status: 'refused', errorCode }),
      ended: (status, usage, errorCode) => (record = { ...record, status, usage, errorCode }),
      settle,
    };
  }
}
