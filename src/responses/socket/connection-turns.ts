import type { MessageMappingProperties } from '@nestjs/websockets';
import { lastValueFrom, type Observable } from 'rxjs';

import type { JsonReader } from '../../http/bodies/index.js';
import type { Connection, ConnectionWork, LaneSummary, StopCause } from '../../connections/index.js';
import type { ContinuationCache, ContinuationCaches } from '../../context/index.js';
import type { Environment } from '../../config/index.js';
import { logRefusal } from '../../http/index.js';
import { ApiError, type IdGenerator } from '../../protocol/index.js';
import type { Clock, Timer } from '../../time/index.js';
import { Lanes } from './lanes.js';
import type { QueueBudget } from './queue-budget.js';
import { SocketTurn, type SocketTurnDependencies, tailOf } from './socket-turn.js';
import type { Steer } from './steer.js';
import { Steering } from './steering.js';
import { unexpectedError } from './unexpected-error.js';

/** The dependencies that the turns of all connections share. */
export interface TurnDependencies {
  readonly environment: Environment;
  readonly clock: Clock;
  readonly caches: ContinuationCaches;
  readonly budget: QueueBudget;
  readonly ids: IdGenerator;
  readonly reader: JsonReader;
}

/** The message handlers that Nest binds to a client, including guards and filters. */
export interface Gateway {
  readonly handlers: readonly MessageMappingProperties[];
  readonly toObservable: (result: unknown) => Observable<unknown>;
}

/** The turns of one connection: their lanes, their cache, and their dispatch to the gateway. */
export class ConnectionTurns implements ConnectionWork, SocketTurnDependencies {
  readonly cache: ContinuationCache;
  readonly steering: Steering;
  readonly reader: JsonReader;
  readonly maxMessageBytes: number;
  readonly sendsNotices: boolean;
  private readonly lanesOfTurns: Lanes;
  private idle: PromiseWithResolvers<undefined> | null = null;

  constructor(
    readonly connection: Connection,
    private readonly gateway: Gateway,
    private readonly dependencies: TurnDependencies,
  ) {
    const { caches, budget, environment, reader, ids } = dependencies;
    this.reader = reader;
    this.maxMessageBytes = environment.WS_MAX_MESSAGE_BYTES;
    this.sendsNotices = environment.WS_UPSTREAM_NOTICES;
    this.cache = caches.open();
    this.lanesOfTurns = new Lanes({
      overlap: environment.WS_OVERLAP,
      budget,
      refusal: () => connection.refusal,
      onIdle: () => this.onIdle(),
    });
    this.steering = new Steering({
      ids,
      share: budget.open(),
      answer: (json, streamId) => connection.writer.answer(json + tailOf(streamId)),
      onRefusal: (error) => logRefusal(() => connection.id, error),
      follow: (streamId, request, steers) => this.follow(streamId, request, steers),
    });
    connection.carry(this);
  }

  /** Queues or runs a turn, or refuses it. */
  submit(turn: SocketTurn): void {
    try {
      this.lanesOfTurns.submit(turn);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      turn.refuse(error);
    }
  }

  async dispatch(turn: SocketTurn): Promise<void> {
    try {
      const { handlers, toObservable } = this.gateway;
      const handler = handlers.findLast(({ message }) => message === turn.type);
      if (handler === undefined) throw new Error(`no gateway handles ${turn.type}`);
      // With a global interceptor, a handler runs only once its result is subscribed to.
      await lastValueFrom(toObservable(handler.callback(turn)), { defaultValue: undefined });
    } catch (error) {
      turn.fail(unexpectedError(error, turn.caller));
    }
  }

  /** Calls `send` after each WS_KEEPALIVE_MS without output of the turn; refresh the timer on output. */
  keepalive(send: () => void): Timer {
    const timer: Timer = this.dependencies.clock.schedule(this.dependencies.environment.WS_KEEPALIVE_MS, () => {
      // No keepalive while the client is not reading.
      if (!this.connection.writer.isBehind) send();
      timer.refresh();
    });
    return timer;
  }

  /** Starts a turn of the server's own when the one that runs on its lane has ended. */
  private follow(
    streamId: string | undefined,
    request: Readonly<Record<string, unknown>>,
    steers: readonly Steer[],
  ): void {
    if (this.connection.refusal !== null) throw this.connection.refusal;
    const requestId = this.dependencies.ids.next('req');
    const message = Buffer.from(JSON.stringify(request));
    this.lanesOfTurns.putInFront(
      new SocketTurn(this, { streamId, requestId, type: 'response.create', message, frame: request, steers }),
    );
  }

  lanes(): readonly LaneSummary[] {
    return this.lanesOfTurns.states().map(({ streamId, running, queued }) => ({
      stream_id: streamId ?? null,
      in_flight: running ? 1 : 0,
      queued,
    }));
  }

  get isIdle(): boolean {
    return this.lanesOfTurns.inFlight === 0;
  }

  whenIdle(): Promise<unknown> {
    if (this.isIdle) return Promise.resolve();
    this.idle ??= Promise.withResolvers();
    return this.idle.promise;
  }

  refuse(error: ApiError): void {
    this.lanesOfTurns.refuseQueued(error);
  }

  stop(cause: StopCause): void {
    this.lanesOfTurns.stop(cause);
  }

  end(): void {
    this.lanesOfTurns.end();
    this.steering.end();
    this.dependencies.caches.close(this.cache);
  }

  private onIdle(): void {
    this.connection.touch();
    this.idle?.resolve(undefined);
    this.idle = null;
  }
}
