import {
  type Abstract,
  Injectable,
  Module,
  type OnApplicationShutdown,
  type OnModuleInit,
  type Provider,
} from '@nestjs/common';

import { BackgroundRuns } from './background-runs.js';
import { Claims } from './claims.js';
import { ConversationStore } from './conversation-store.js';
import { DeletionNotices, RunNotices } from './notices.js';
import { EventLog } from './event-log.js';
import { JobQueue } from './job-queue.js';
import { observeCalls, StateCallObserver } from './observe-calls.js';
import { ResponseGraph } from './response-graph.js';
import { ResponseStore } from './response-store.js';
import { Retention } from './retention.js';
import { SecretStore } from './secret-store.js';
import { SessionStore } from './session-store.js';
import { backendsOf, LibraryBackend, StateBackend } from './state-backend.js';
import { WriteLock } from './write-lock.js';

/** Starts the backends before the first request, and stops it after the last turn. */
@Injectable()
class StateLifecycle implements OnModuleInit, OnApplicationShutdown {
  constructor(
    private readonly backend: StateBackend,
    private readonly library: LibraryBackend,
  ) {}

  async onModuleInit(): Promise<void> {
    for (const backend of backendsOf(this.backend, this.library)) await backend.start();
  }

  async onApplicationShutdown(): Promise<void> {
    this.library.bucket?.close();
    for (const backend of backendsOf(this.backend, this.library)) await backend.stop();
  }
}

/** A contract of the selected backend, whose calls are observed where somebody does, under the name that metrics have for it. */
function observed(
  token: Abstract<object>,
  member: 'responses' | 'runs' | 'graph' | 'sessions' | 'conversations' | 'claims',
  name: string = member,
): Provider {
  return {
    provide: token,
    inject: [StateBackend, { token: StateCallObserver, optional: true }],
    useFactory: (backend: StateBackend, observer?: StateCallObserver | null) =>
      observeCalls<object>(backend[member], name, observer ?? null),
  };
}

/** The state contracts of the selected StateBackend. */
@Module({
  providers: [
    observed(ResponseStore, 'responses'),
    // Dashboards know its operations as those of `responses`.
    observed(BackgroundRuns, 'runs', 'responses'),
    observed(ResponseGraph, 'graph'),
    observed(SessionStore, 'sessions'),
    observed(ConversationStore, 'conversations'),
    observed(Claims, 'claims'),
    { provide: SecretStore, inject: [StateBackend], useFactory: ({ secrets }: StateBackend) => secrets },
    { provide: WriteLock, inject: [StateBackend], useFactory: ({ locks }: StateBackend) => locks },
    { provide: DeletionNotices, inject: [StateBackend], useFactory: ({ notices }: StateBackend) => notices },
    { provide: EventLog, inject: [StateBackend], useFactory: ({ log }: StateBackend) => log },
    { provide: JobQueue, inject: [StateBackend], useFactory: ({ jobs }: StateBackend) => jobs },
    { provide: RunNotices, inject: [StateBackend], useFactory: ({ runNotices }: StateBackend) => runNotices },
    StateLifecycle,
    Retention,
  ],
  exports: [
    ResponseStore,
    BackgroundRuns,
    ResponseGraph,
    SessionStore,
    ConversationStore,
    Claims,
    SecretStore,
    WriteLock,
    DeletionNotices,
    EventLog,
    JobQueue,
    RunNotices,
    Retention,
  ],
})
export class StateModule {}
