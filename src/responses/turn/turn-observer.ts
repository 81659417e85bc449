import { Inject, Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';

import type { Caller } from '../../access/index.js';
import {
  ApiError,
  type ResponseObject,
  type TerminalStatus,
  type TraceContext,
  type Usage,
} from '../../protocol/index.js';
import type { UpstreamAttempt } from '../../providers/index.js';
import { isPromise, type MaybePromise } from '../../time/index.js';
import { findInstances } from './find-instances.js';

/** The transport of a turn. */
export type Transport = 'json' | 'sse' | 'websocket';

/** The dialect in which a client asks for a turn: the Responses API, or one of DOORS. */
export type Door = 'responses' | 'messages' | 'chat';

/** What a client asks for: the body of a create request, or a `response.create` without its envelope. */
export interface AskedTurn {
  /** The same object as in BegunTurn, unless the turn waits in a queue. */
  readonly caller: Caller;
  readonly door: Door;
  readonly transport: Transport;
  /** Not validated: as it was sent, or what a door has made of it. Part of the turn: do not change it. */
  readonly request: unknown;
  /** As it was sent, where that is another object. */
  readonly original?: unknown;
  /** The headers of the request or of the upgrade, by their names in lower case. */
  readonly headers: Readonly<Record<string, unknown>>;
}

/** A turn at its beginning. */
export interface BegunTurn {
  readonly responseId: string;
  readonly caller: Caller;
  readonly model: string;
  readonly door: Door;
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

/** A call of a tool that the service has run. */
export interface ToolRun {
  /** The id of its item. */
  readonly callId: string;
  readonly name: string;
  /** The label of its server; null for the web. */
  readonly server: string | null;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly durationMs: number;
  /** The type of the error that the call has ended with, `aborted` where its turn was stopped first; null without one. */
  readonly errorType: string | null;
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
  /** The response as it ended; null when it was refused, or its client has left. Part of the service: do not change it. */
  readonly response: ResponseObject | null;
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
  /** The calls of tools in this process, in the order in which they ended, as far as policies report them. */
  readonly toolRuns: readonly ToolRun[];
  /** From the beginning of the turn to its end, ms. */
  readonly durationMs: number;
}

/**
 * Observes every turn on every transport. Override the methods you need; others have no cost. Turns do not wait for
 * observers; errors are logged.
 */
export abstract class TurnObserver {
  /** A client asks for a turn, which is not validated yet. */
  asked?(turn: AskedTurn): MaybePromise<void>;

  /** What was asked for is answered with an error instead of a response. `settled` follows if its turn has begun. */
  refused?(caller: Caller, error: ApiError): MaybePromise<void>;

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
  private readonly logger = new Logger('TurnObservers');
  private ofAsked: readonly TurnObserver[] = [];
  private ofRefused: readonly TurnObserver[] = [];
  private ofBegun: readonly TurnObserver[] = [];
  private ofFirstEvent: readonly TurnObserver[] = [];
  private ofSettled: readonly TurnObserver[] = [];

  constructor(
    private readonly discovery: DiscoveryService,
    @Inject(OBSERVERS) private readonly given: readonly TurnObserver[],
  ) {}

  onModuleInit(): void {
    const observers = findInstances(this.discovery, TurnObserver, this.given);
    this.ofAsked = observers.filter((observer) => observer.asked !== undefined);
    this.ofRefused = observers.filter((observer) => observer.refused !== undefined);
    this.ofBegun = observers.filter((observer) => observer.begun !== undefined);
    this.ofFirstEvent = observers.filter((observer) => observer.firstEvent !== undefined);
    this.ofSettled = observers.filter((observer) => observer.settled !== undefined);
  }

  /** Reports what a client asks for, and why it is refused if `admit` throws an ApiError. Returns what `admit` returns. */
  asked<T>(turn: () => AskedTurn, admit: () => T): T {
    if (this.ofAsked.length === 0 && this.ofRefused.length === 0) return admit();
    const asked = turn();
    const name = `request ${asked.caller.requestId}`;
    this.tell(this.ofAsked, name, (observer) => observer.asked?.(asked));
    try {
      return admit();
    } catch (error) {
      if (error instanceof ApiError) this.refused(asked.caller, error);
      throw error;
    }
  }

  /** Reports an error that answers what a client has asked for. */
  refused(caller: Caller, error: ApiError): void {
    this.tell(this.ofRefused, `request ${caller.requestId}`, (observer) => observer.refused?.(caller, error));
  }

  /** Reports a turn that begins. */
  begun(turn: () => BegunTurn): void {
    if (this.ofBegun.length === 0) return;
    const begun = turn();
    this.tell(this.ofBegun, begun.responseId, (observer) => observer.begun?.(begun));
  }

  /** Reports the first event of a turn's model. */
  firstEvent(turn: () => AnsweringTurn): void {
    if (this.ofFirstEvent.length === 0) return;
    const answering = turn();
    this.tell(this.ofFirstEvent, answering.responseId, (observer) => observer.firstEvent?.(answering));
  }

  /** Reports a turn that is over. */
  settled(record: TurnRecord): void {
    this.tell(this.ofSettled, record.responseId, (observer) => observer.settled?.(record));
  }

  private tell(
    observers: readonly TurnObserver[],
    what: string,
    call: (observer: TurnObserver) => MaybePromise<void> | undefined,
  ): void {
    for (const observer of observers) {
      try {
        const told = call(observer);
        if (isPromise(told)) Promise.resolve(told).catch((error: unknown) => this.fail(observer, what, error));
      } catch (error) {
        this.fail(observer, what, error);
      }
    }
  }

  private fail(observer: TurnObserver, what: string, error: unknown): void {
    this.logger.error(`${observer.constructor.name} failed for ${what}`, error);
  }
}
