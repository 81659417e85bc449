import { Inject, Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';

import type { Caller } from '../../access/index.js';
import type { TerminalStatus, TraceContext, Usage } from '../../protocol/index.js';
import type { UpstreamAttempt } from '../../providers/index.js';
import { isPromise, type MaybePromise } from '../../time/index.js';
import { findInstances } from './find-instances.js';

/** The transport of a turn. */
export type Transport = 'json' | 'sse' | 'websocket';

/** A turn at its beginning. */
export interface BegunTurn {
  readonly responseId: string;
  readonly caller: Caller;
  readonly model: string;
  readonly transport: Transport;
  /** Whether it runs in the background: then it begins when it is queued, and may end in another process. */
  readonly background: boolean;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  /** The trace of the client's request; null without one. */
  readonly trace: TraceContext | null;
}

/** A turn at the first event of its model. */
export interface AnsweringTurn extends BegunTurn {
  /** The name of the provider. */
  readonly provider: string;
  /** From the beginning of the turn to the first event of its model, ms. */
  readonly firstEventMs: number;
}

/** A turn that is over. */
export interface TurnRecord extends BegunTurn {
  /** Null when no provider was chosen. */
  readonly provider: string | null;
  /**
   * `refused`: it ended before `response.created`; `disconnected`: its connection ended first; `cancelled`: only in the
   * background.
   */
  readonly status: TerminalStatus | 'cancelled' | 'refused' | 'disconnected';
  readonly usage: Usage | null;
  /** Whether its usage is stored together with its response. */
  readonly isUsageStored: boolean;
  /** Events of the model that are not part of the protocol and that its transport cannot carry. */
  readonly droppedEvents: number;
  /** The error code of a refused or failed turn. */
  readonly errorCode: string | null;
  /** From the beginning of the turn to the first event of its model, ms; null when there was none, or it was cancelled. */
  readonly firstEventMs: number | null;
  /** The longest time between two batches of events of its model, ms; null when there were fewer than two. */
  readonly longestGapMs: number | null;
  /** Batches of events of its model. */
  readonly batches: number;
  /** The requests to upstreams in this process, in order, as far as providers report them. */
  readonly attempts: readonly UpstreamAttempt[];
  /** From the beginning of the turn to its end, ms. */
  readonly durationMs: number;
}

/**
 * Observes every turn on every transport. Override the methods you need; others have no cost. Turns do not wait for
 * observers; errors are logged.
 */
export abstract class TurnObserver {
  /**
   * A turn begins: it is validated and waits for its Admission. For a background turn it is called once the turn is stored, by the process
   * that created it; the process that runs the turn may call `firstEvent` and `settled` before that.
   */
  begun?(turn: BegunTurn): MaybePromise<void>;

  /** The model of a turn has sent its first event. Not called for a turn that is refused, fails before, or asks no model. */
  firstEvent?(turn: AnsweringTurn): MaybePromise<void>;

  /** A turn is over. Called exactly once for each turn that has begun, unless its process dies at that moment. */
  settled?(record: TurnRecord): MaybePromise<void>;
}

/** DI token: the observers given by the program, in order. */
export const OBSERVERS = 'antiphon: observers';

/** All observers of the application: those given by the program, then those of its modules. */
@Injectable()
export class TurnObservers implements OnModuleInit {
  private readonly logger = new Logger(TurnObservers.name);
  private ofBegun: readonly TurnObserver[] = [];
  private ofFirstEvent: readonly TurnObserver[] = [];
  private ofSettled: readonly TurnObserver[] = [];

  constructor(
    private readonly discovery: DiscoveryService,
    @Inject(OBSERVERS) private readonly given: readonly TurnObserver[],
  ) {}

  onModuleInit(): void {
    const observers = findInstances(this.discovery, TurnObserver, this.given);
    this.ofBegun = observers.filter((observer) => observer.begun !== undefined);
    this.ofFirstEvent = observers.filter((observer) => observer.firstEvent !== undefined);
    this.ofSettled = observers.filter((observer) => observer.settled !== undefined);
  }

  /** Reports a turn that begins. */
  begun(turn: () => BegunTurn): void {
    if (this.ofBegun.length > 0) this.tell(this.ofBegun, turn(), (observer, begun) => observer.begun?.(begun));
  }

  /** Reports the first event of a turn's model. */
  firstEvent(turn: () => AnsweringTurn): void {
    if (this.ofFirstEvent.length === 0) return;
    this.tell(this.ofFirstEvent, turn(), (observer, answering) => observer.firstEvent?.(answering));
  }

  /** Reports a turn that is over. */
  settled(record: TurnRecord): void {
    this.tell(this.ofSettled, record, (observer, settled) => observer.settled?.(settled));
  }

  private tell<T extends BegunTurn>(
    observers: readonly TurnObserver[],
    turn: T,
    call: (observer: TurnObserver, turn: T) => MaybePromise<void> | undefined,
  ): void {
    for (const observer of observers) {
      try {
        const told = call(observer, turn);
        if (isPromise(told)) Promise.resolve(told).catch((error: unknown) => this.fail(observer, turn, error));
      } catch (error) {
        this.fail(observer, turn, error);
      }
    }
  }

  private fail(observer: TurnObserver, { responseId }: BegunTurn, error: unknown): void {
    this.logger.error(`${observer.constructor.name} failed for ${responseId}`, error);
  }
}
