import { Injectable, Module, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';

import { Environment } from '../config/index.js';
import { Clock } from '../time/index.js';
import { DeletionNotices } from './deletion-notices.js';
import { MemoryBackend } from './memory/memory-backend.js';
import { ResponseGraph } from './response-graph.js';
import { ResponseStore } from './response-store.js';
import { Retention } from './retention.js';
import { SessionLock } from './session-lock.js';
import { SessionStore } from './session-store.js';
import { StateBackend } from './state-backend.js';

/** What each value of STATE makes. */
const BACKENDS: Readonly<
  Record<Environment['STATE'], (environment: Environment, clock: Clock) => StateBackend | Promise<StateBackend>>
> = {
  memory: (environment, clock) => new MemoryBackend(environment, clock),
  postgres: async (environment, clock) => {
    // Its driver is loaded only where it is needed.
    const { PostgresBackend } = await import('./postgres/index.js');
    return new PostgresBackend(environment, clock);
  },
};

/** Starts the backend before the first request, and stops it when no turn needs it any more. */
@Injectable()
class StateLifecycle implements OnModuleInit, OnApplicationShutdown {
  constructor(private readonly backend: StateBackend) {}

  onModuleInit(): Promise<void> {
    return this.backend.start();
  }

  onApplicationShutdown(): Promise<void> {
    return this.backend.stop();
  }
}

/** Where responses, sessions and locks are kept, as STATE says: a whole room at once. */
@Module({
  providers: [
    {
      provide: StateBackend,
      inject: [Environment, Clock],
      useFactory: (environment: Environment, clock: Clock) => BACKENDS[environment.STATE](environment, clock),
    },
    { provide: ResponseStore, inject: [StateBackend], useFactory: ({ responses }: StateBackend) => responses },
    { provide: ResponseGraph, inject: [StateBackend], useFactory: ({ graph }: StateBackend) => graph },
    { provide: SessionStore, inject: [StateBackend], useFactory: ({ sessions }: StateBackend) => sessions },
    { provide: SessionLock, inject: [StateBackend], useFactory: ({ locks }: StateBackend) => locks },
    { provide: DeletionNotices, inject: [StateBackend], useFactory: ({ notices }: StateBackend) => notices },
    StateLifecycle,
    Retention,
  ],
  exports: [ResponseStore, ResponseGraph, SessionStore, SessionLock, DeletionNotices],
})
export class StateModule {}
