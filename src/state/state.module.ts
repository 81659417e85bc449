import { Injectable, Logger, Module, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';

import { BackgroundRuns } from './background-runs.js';
import { Claims } from './claims.js';
import { ConversationStore } from './conversation-store.js';
import { DeletionNotices, RunNotices } from './notices.js';
import { EventLog } from './event-log.js';
import { JobQueue } from './job-queue.js';
import { observeCalls, StateCallObserver } from './observe-calls.js';
import { logDamageWith } from './readable-page.js';
import { ResponseGraph } from './response-graph.js';
import { ResponseStore } from './response-store.js';
import { Retention } from './retention.js';
import { SecretStore } from './secret-store.js';
import { SessionStore } from './session-store.js';
import { backendsOf, LibraryBackend, StateBackend } from './state-backend.js';
import { WriteLock } from './write-lock.js';

/** Starts the backends before the first request, and stops them after the last turn. */
@Injectable()
class StateLifecycle implements OnModuleInit, OnApplicationShutdown {
  constructor(
    private readonly backend: StateBackend,
    private readonly library: LibraryBackend,
  ) {}

  async onModuleInit(): Promise<void> {
    logDamageWith(new Logger('State'));
    for (const backend of backendsOf(this.backend, this.library)) await backend.start();
  }

  async onApplicationShutdown(): Promise<void> {
    this.library.bucket?.close();
    for (const backend of backendsOf(this.backend, this.library)) await backend.stop();
  }
}

/** The contracts that are injected: their members of the backend, and the names that metrics have for their calls; null: they are not measured. */
const CONTRACTS = [
  [ResponseStore, 'responses', 'responses'],
  // Dashboards know its operations as those of `responses`.
  [BackgroundRuns, 'runs', 'responses'],
  [ResponseGraph, 'graph', 'graph'],
  [SessionStore, 'sessions', 'sessions'],
  [ConversationStore, 'conversations', 'conversations'],
  [WriteLock, 'locks', null],
  [SecretStore, 'secrets', null],
  [Claims, 'claims', 'claims'],
  [DeletionNotices, 'notices', null],
  [EventLog, 'log', null],
  [JobQueue, 'jobs', null],
  [RunNotices, 'runNotices', null],
] as const;

/** The state contracts of the selected StateBackend. */
@Module({
  providers: [
    ...CONTRACTS.map(([provide, member, name]) => ({
      provide,
      inject: [StateBackend, { token: StateCallObserver, optional: true }],
      useFactory: (backend: StateBackend, observer: StateCallObserver | null = null): object =>
        name === null ? backend[member] : observeCalls<object>(backend[member], name, observer),
    })),
    StateLifecycle,
    Retention,
  ],
  exports: [...CONTRACTS.map(([contract]) => contract), Retention],
})
export class StateModule {}
