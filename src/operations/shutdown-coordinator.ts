import type { Server } from 'node:http';

import { type BeforeApplicationShutdown, Injectable, Logger } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';

import { Environment } from '../config/index.js';
import { ConnectionRegistry } from '../connections/index.js';
import { Counters } from '../access/quotas/index.js';
import { LineBudget } from '../logging/index.js';
import { BackgroundWorker, RunningTurns } from '../responses/index.js';
import { Clock, LastWaits } from '../time/index.js';
import { OpenReplies } from './open-replies.js';
import { Readiness } from './readiness.js';

/** Time limit for clients to read the rest of their answers, ms. */
const LAST_BYTES_MS = 2000;

/**
 * Shuts down in order: readiness off, a delay for load balancers, no new turns, a grace period for running turns, after
 * which background turns are handed back, then the connections. One coordinator, because Nest calls modules one after
 * another and separate drains would add up.
 */
@Injectable()
export class ShutdownCoordinator implements BeforeApplicationShutdown {
  private readonly logger = new Logger('ShutdownCoordinator');

  constructor(
    private readonly environment: Environment,
    private readonly clock: Clock,
    private readonly runningTurns: RunningTurns,
    private readonly background: BackgroundWorker,
    private readonly connections: ConnectionRegistry,
    private readonly replies: OpenReplies,
    private readonly readiness: Readiness,
    private readonly adapterHost: HttpAdapterHost,
    private readonly counters: Counters,
    private readonly lastWaits: LastWaits,
  ) {}

  async beforeApplicationShutdown(): Promise<void> {
    this.readiness.leave();
    const { SHUTDOWN_DELAY_MS } = this.environment;
    if (SHUTDOWN_DELAY_MS > 0) await this.clock.sleep(SHUTDOWN_DELAY_MS);
    const idle = this.runningTurns.close();
    const handedBack = this.background.close();
    const disconnected = this.connections.close();
    if (this.runningTurns.size > 0)
      this.logger.log(`running turns: ${this.runningTurns.size}; they may take DRAIN_TIMEOUT_MS to end`);
    if ((await this.clock.within(idle, this.environment.DRAIN_TIMEOUT_MS)) === undefined) {
      this.logger.warn(`stopping what still runs after DRAIN_TIMEOUT_MS (turns: ${this.runningTurns.size})`);
      this.runningTurns.drain();
    }
    await this.clock.within(Promise.all([this.replies.allClosed(), disconnected, handedBack]), LAST_BYTES_MS);
    this.connections.terminate();
    this.replies.cut();
    // Keep-alive and unused connections would block `close()` indefinitely.
    (this.adapterHost.httpAdapter.getHttpServer() as Server).closeAllConnections();
    // A turn that was waiting for its client continues only now and still has to be saved and counted.
    await this.clock.within(idle, LAST_BYTES_MS);
    // The last turns are settled, and the state is still there.
    await this.lastWaits.wait(this.counters.close());
    LineBudget.endAll();
  }
}
