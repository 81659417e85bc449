import { Logger } from '@nestjs/common';
import type { MessageMappingProperties } from '@nestjs/websockets';
import { lastValueFrom, type Observable } from 'rxjs';
import type { RawData, WebSocket } from 'ws';

import type { Caller } from '../../access/index.js';
import type { Connection, ConnectionWork, LaneSummary, StopCause } from '../../connections/index.js';
import type { ContinuationCache, ContinuationCaches } from '../../context/index.js';
import type { Environment } from '../../config/index.js';
import { ApiError, type IdGenerator, toErrorFrame } from '../../protocol/index.js';
import type { Clock, Timer } from '../../time/index.js';
import { type ClientFrame, readFrame, refuseEventType, streamIdOf } from './client-frame.js';
import { Lanes } from './lanes.js';
import type { QueueBudget } from './queue-budget.js';
import { SocketTurn, type TurnHost } from './socket-turn.js';
import { answerInterrupt, answerSteer } from './steer.js';

/** What a session works with. */
export interface SessionDependencies {
  readonly environment: Environment;
  readonly clock: Clock;
  readonly ids: IdGenerator;
  readonly caches: ContinuationCaches;
  readonly budget: QueueBudget;
}

/** What one connection carries: its lanes, what it remembers, and the frames that come in. */
export class SocketSession implements ConnectionWork, TurnHost {
  readonly cache: ContinuationCache;
  private readonly logger = new Logger('Socket');
  private readonly lanesOfTurns: Lanes;
  private readonly handlers = new Map<unknown, (turn: SocketTurn) => Promise<unknown>>();
  private idle: PromiseWithResolvers<undefined> | null = null;

  constructor(
    readonly connection: Connection,
    socket: WebSocket,
    private readonly dependencies: SessionDependencies,
  ) {
    const { caches, budget, environment } = dependencies;
    this.cache = caches.open();
    this.lanesOfTurns = new Lanes({ overlap: environment.WS_OVERLAP, budget, onIdle: () => this.onIdle() });
    socket.on('message', (data: RawData, isBinary: boolean) => this.receive(data as Buffer, isBinary));
    connection.carry(this);
  }

  /** Takes the gateway's handlers, each with its guards and filters around it, and what makes Observables of results. */
  handleWith(
    handlers: readonly MessageMappingProperties[],
    toObservable: (result: unknown) => Observable<unknown>,
  ): void {
    for (const { message, callback } of handlers) {
      // With an interceptor in the application, a handler runs when its result is subscribed to.
      this.handlers.set(message, (turn) => lastValueFrom(toObservable(callback(turn)), { defaultValue: undefined }));
    }
  }

  async dispatch(turn: SocketTurn): Promise<void> {
    try {
      const handle = this.handlers.get(turn.type);
      if (handle === undefined) throw new Error(`no gateway handles ${turn.type}`);
      await handle(turn);
    } catch (error) {
      turn.fail(this.unexpected(error, turn.caller.requestId));
    }
  }

  /** Calls `send` whenever a turn has been silent for WS_KEEPALIVE_MS; refresh it when the turn says something. */
  keepalive(send: () => void): Timer {
    const timer: Timer = this.dependencies.clock.schedule(this.dependencies.environment.WS_KEEPALIVE_MS, () => {
      // A client that does not read needs no sign of life.
      if (!this.connection.writer.isBehind) send();
      timer.refresh();
    });
    return timer;
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
    this.dependencies.caches.close(this.cache);
  }

  /** Every frame gets its answer, and none can end the connection or disturb a running turn. */
  private receive(data: Buffer, isBinary: boolean): void {
    // Between the two sides of the closing handshake a client may still send.
    if (!this.connection.isOpen) return;
    this.connection.touch();
    try {
      this.accept(readFrame(data, isBinary), data);
    } catch (error) {
      this.answer(error);
    }
  }

  private accept(frame: ClientFrame, message: Buffer): void {
    const { type } = frame;
    switch (type) {
      case 'response.create':
      case 'response.append':
        this.submit(
          new SocketTurn(this, { streamId: streamIdOf(frame), caller: this.nextCaller(), type, message, frame }),
        );
        return;
      case 'response.steer':
        this.connection.writer.answer(answerSteer(frame));
        return;
      case 'response.interrupt':
        this.connection.writer.answer(answerInterrupt(frame));
        return;
      case 'response.processed':
        // Codex said so in the spring of 2026; there is nothing to answer.
        return;
      default:
        throw refuseEventType(type);
    }
  }

  private submit(turn: SocketTurn): void {
    try {
      if (this.connection.refusal !== null) throw this.connection.refusal;
      this.lanesOfTurns.submit(turn);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      turn.refuse(error);
    }
  }

  private answer(error: unknown): void {
    const { requestId } = this.nextCaller();
    const refusal = error instanceof ApiError ? error : this.unexpected(error, requestId);
    this.connection.writer.answer(toErrorFrame(refusal, { requestId }));
  }

  private unexpected(error: unknown, requestId: string): ApiError {
    this.logger.error(`request ${requestId} on ${this.connection.id} failed`, error);
    return ApiError.unexpected(requestId, error);
  }

  /** Every frame has a request id of its own. */
  private nextCaller(): Caller {
    const { owner, id: connectionId } = this.connection;
    return { owner, connectionId, requestId: this.dependencies.ids.next('req') };
  }

  private onIdle(): void {
    this.connection.touch();
    this.idle?.resolve(undefined);
    this.idle = null;
  }
}
