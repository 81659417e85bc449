import { Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';

import type { Caller } from '../../access/index.js';
import type { TerminalStatus, Usage } from '../../protocol/index.js';
import { isPromise, type MaybePromise } from '../../time/index.js';
import { findInstances } from './find-instances.js';

/** What is known of a turn once it is over. */
export interface TurnRecord {
  readonly responseId: string;
  readonly caller: Caller;
  readonly model: string;
  /** Null when no provider was chosen. */
  readonly provider: string | null;
  /** `refused`: it ended before `response.created`; `disconnected`: the client left first. */
  readonly status: TerminalStatus | 'refused' | 'disconnected';
  readonly usage: Usage | null;
  /** The error's code where the turn was refused or failed. */
  readonly errorCode: string | null;
  readonly durationMs: number;
}

/**
 * Sees every turn once, when it is over. Metering, traces and logs are observers: any provider of any module that extends
 * this class is called.
 */
export abstract class TurnObserver {
  /** Called exactly once per admitted turn, on every transport. What it throws is logged and goes no further. */
  abstract settled(record: TurnRecord): MaybePromise<void>;
}

/** All observers of the application. */
@Injectable()
export class TurnObservers implements OnModuleInit {
  private readonly logger = new Logger(TurnObservers.name);
  private observers: readonly TurnObserver[] = [];

  constructor(private readonly discovery: DiscoveryService) {}

  onModuleInit(): void {
    this.observers = findInstances(this.discovery, TurnObserver);
  }

  /** Tells all of them of a turn that is over. */
  settled(record: TurnRecord): void {
    for (const observer of this.observers) {
      try {
        const told = observer.settled(record);
        if (isPromise(told)) told.catch((error: unknown) => this.fail(observer, record, error));
      } catch (error) {
        this.fail(observer, record, error);
      }
    }
  }

  private fail(observer: TurnObserver, { responseId }: TurnRecord, error: unknown): void {
    this.logger.error(`${observer.constructor.name} failed for ${responseId}`, error);
  }
}
