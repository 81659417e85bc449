import { Injectable, Logger } from '@nestjs/common';

import type { ResponseObject, TerminalStatus, Usage } from '../protocol/index.js';
import { Clock } from '../time/index.js';
import { Admission, type Release } from './admission.js';
import type { AdmittedTurn } from './admitted-turn.js';
import { RunningTurn, RunningTurns } from './running-turns.js';
import { TurnObservers, type TurnRecord } from './turn-observer.js';
import { untilAborted } from './until-aborted.js';

/** How a turn ended, as far as it is known. */
type Ending = Pick<TurnRecord, 'provider' | 'status' | 'usage' | 'errorCode'>;

/** Lets turns in and sees them out: admission, the list of running turns, and the observers. */
@Injectable()
export class TurnLifecycle {
  private readonly logger = new Logger(TurnLifecycle.name);

  constructor(
    private readonly admission: Admission,
    private readonly runningTurns: RunningTurns,
    private readonly observers: TurnObservers,
    private readonly clock: Clock,
  ) {}

  /** A turn that ends when `clientGone` aborts. It is not let in yet: call `enter`, and `settle` in every case. */
  open(turn: AdmittedTurn, clientGone: AbortSignal): LiveTurn {
    const startedAt = this.clock.now();
    const running = new RunningTurn(turn.responseId);
    return new LiveTurn(running, clientGone, {
      enter: async () => {
        this.runningTurns.begin(running);
        return untilAborted(this.admission.acquire(turn, running.signal), running.signal);
      },
      leave: (ending, release) => {
        this.runningTurns.end(running);
        void this.giveBack(release);
        this.observers.settled({
          responseId: turn.responseId,
          caller: turn.caller,
          model: turn.settings.model,
          durationMs: this.clock.now() - startedAt,
          ...ending,
        });
      },
    });
  }

  private async giveBack(release: Release): Promise<void> {
    try {
      await release();
    } catch (error) {
      this.logger.error('a place could not be given back', error);
    }
  }
}

/** A turn from its admission to its end. */
export class LiveTurn {
  private release: Release = () => undefined;
  private readonly ending: { -readonly [K in keyof Ending]: Ending[K] } = {
    provider: null,
    status: 'disconnected',
    usage: null,
    errorCode: null,
  };
  private readonly onClientGone = (): void => this.running.stop('disconnect');

  constructor(
    private readonly running: RunningTurn,
    private readonly clientGone: AbortSignal,
    private readonly doors: {
      readonly enter: () => Promise<Release>;
      readonly leave: (ending: Ending, release: Release) => void;
    },
  ) {
    if (clientGone.aborted) this.onClientGone();
    clientGone.addEventListener('abort', this.onClientGone);
  }

  /** Aborts when the turn is to stop, whoever wants it. */
  get signal(): AbortSignal {
    return this.running.signal;
  }

  /** The model has been silent too long. */
  readonly timeOut = (): void => this.running.stop('timeout');

  /** Waits to be let in. Throws what the admission refuses with, and 503 when the process is shutting down. */
  async enter(): Promise<void> {
    this.release = await this.doors.enter();
  }

  chose(provider: string): void {
    this.ending.provider = provider;
  }

  /** What the model has cost so far counts even if the client leaves now. */
  used(usage: Usage | null): void {
    this.ending.usage = usage;
  }

  /** Notes a refusal, unless the turn has ended already. */
  refused(errorCode: string | null): void {
    if (this.ending.status !== 'disconnected') return;
    this.ending.status = 'refused';
    this.ending.errorCode = errorCode;
  }

  ended({ status, usage, error }: ResponseObject & { readonly status: TerminalStatus }): void {
    this.ending.status = status;
    this.ending.usage = usage;
    this.ending.errorCode = error?.code ?? null;
  }

  /** Stops what may still run for the turn, gives its place back and tells the observers. */
  settle(): void {
    this.clientGone.removeEventListener('abort', this.onClientGone);
    // After its own end a model has nothing to stop, and an abort would look like one to its upstream.
    if (this.ending.status !== 'completed' && this.ending.status !== 'incomplete') this.running.stop('over');
    this.doors.leave(this.ending, this.release);
  }
}
