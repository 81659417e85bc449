import { Injectable } from '@nestjs/common';
import { EMPTY, fromEvent, takeUntil } from 'rxjs';
import type { RawData, WebSocket } from 'ws';

import { BodyBudget, JsonReader } from '../../http/bodies/index.js';
import { Environment } from '../../config/index.js';
import { type Connection, ConnectionRegistry, type Upgraded } from '../../connections/index.js';
import { ContinuationCaches } from '../../context/index.js';
import { logRefusal } from '../../http/index.js';
import { ApiError, IdGenerator } from '../../protocol/index.js';
import { Clock, isPromise } from '../../time/index.js';
import { type ClientFrame, readFrame, refuseEventType, streamIdOf } from './client-frame.js';
import { type Gateway, ConnectionTurns } from './connection-turns.js';
import { IncomingMessages } from './incoming-messages.js';
import { SocketTurn, type SocketTurnOptions } from './socket-turn.js';
import { QueueBudget } from './queue-budget.js';
import { TurnGuard } from './turn.guard.js';
import { unexpectedError } from './unexpected-error.js';

/** Used until Nest binds the message handlers. */
const NO_GATEWAY: Gateway = { handlers: [], toObservable: () => EMPTY };

type EventHandler = Gateway['handlers'][number];

/** Shared, because most connections have no events of a program. */
const NOTHING_BEFORE = Promise.resolve();

/** The handlers of all sockets of this process, and what they share. */
@Injectable()
export class ConnectionHandlers {
  readonly reader: JsonReader;
  private readonly handlers = new WeakMap<WebSocket, ConnectionHandler>();

  constructor(
    private readonly registry: ConnectionRegistry,
    readonly environment: Environment,
    readonly clock: Clock,
    readonly ids: IdGenerator,
    readonly caches: ContinuationCaches,
    readonly budget: QueueBudget,
    readonly guard: TurnGuard,
    readonly bodies: BodyBudget,
  ) {
    this.reader = new JsonReader(environment, 'of your message');
  }

  /** Starts the handler of a new socket; false when a connection limit is reached and the client is being refused. */
  start(upgraded: Upgraded): boolean {
    const connection = this.registry.open(upgraded);
    if (connection === undefined) return false;
    this.handlers.set(upgraded.socket, new ConnectionHandler(connection, upgraded, this));
    return true;
  }

  of(socket: WebSocket): ConnectionHandler | undefined {
    return this.handlers.get(socket);
  }
}

/** Handles the frames of one client. */
export class ConnectionHandler {
  /** Created with the first turn: thousands of sockets may be open that never send anything. */
  private turns: ConnectionTurns | null = null;
  private gateway = NO_GATEWAY;
  /** Resolves when the events of the program so far were handed to their gateways. */
  private events: Promise<void> = NOTHING_BEFORE;
  private queued = 0;
  /** Resolves when the long messages so far were read; null when there is none. */
  private reading: Promise<void> | null = null;
  private readonly socket: WebSocket;
  private readonly incoming: IncomingMessages;

  constructor(
    private readonly connection: Connection,
    { socket, stream }: Upgraded,
    private readonly shared: ConnectionHandlers,
  ) {
    this.socket = socket;
    this.incoming = new IncomingMessages(socket, stream, shared.bodies, (error) => {
      this.answer(error);
      connection.dropLargeMessage();
    });
    socket.on('message', (data: RawData, isBinary: boolean) => this.receive(data as Buffer, isBinary));
  }

  /**
   * Adds the handlers of a gateway. With several gateways on one path, the last one that subscribes to an event handles
   * it.
   */
  handleWith({ handlers, toObservable }: Gateway): void {
    this.gateway = { handlers: [...this.gateway.handlers, ...handlers], toObservable };
  }

  /**
   * Answers every frame, in the order of their arrival; an invalid one neither closes the connection nor affects
   * running turns. While a long one is read, the client has to wait.
   */
  private receive(data: Buffer, isBinary: boolean): void {
    // A client may still send during the closing handshake.
    if (!this.connection.isOpen) return;
    this.connection.touch();
    const before = this.reading;
    const read = before === null ? this.read(data, isBinary) : before.then(() => this.read(data, isBinary));
    if (read === undefined) return;
    const release = this.incoming.hold(data.length);
    const reading = read.then(() => {
      release();
      if (this.reading === reading) this.reading = null;
    });
    this.reading = reading;
  }

  /** Undefined when the frame was read at once. */
  private read(data: Buffer, isBinary: boolean): Promise<void> | undefined {
    if (!this.connection.isOpen) return undefined;
    try {
      const frame = readFrame(data, isBinary, this.shared.reader);
      if (isPromise(frame)) {
        return frame
          .then((value) => {
            // The client may have left meanwhile, and what the connection carries has ended.
            if (this.connection.isOpen) this.accept(value, data);
          })
          .catch((error: unknown) => this.answer(error));
      }
      this.accept(frame, data);
    } catch (error) {
      this.answer(error);
    }
    return undefined;
  }

  private accept(frame: ClientFrame, message: Buffer): void {
    const { type } = frame;
    if (type !== 'response.create' && type !== 'response.append') {
      const handler = this.gateway.handlers.findLast((candidate) => candidate.message === type);
      if (handler !== undefined) {
        this.queue(frame, handler);
        return;
      }
    }
    switch (type) {
      case 'response.create':
      case 'response.append':
        this.submit({ streamId: streamIdOf(frame), requestId: this.nextRequestId(), type, message, frame });
        return;
      case 'response.steer':
        this.allTurns.steering.steer(frame, message.length);
        return;
      case 'response.interrupt':
        this.allTurns.steering.interrupt(frame);
        return;
      case 'response.processed':
        // Sent by Codex in spring 2026; needs no answer.
        return;
      default:
        throw refuseEventType(
          type,
          this.gateway.handlers.map(({ message: name }) => String(name)),
        );
    }
  }

  /**
   * Queues an event of the program: its gateways get events in the order in which they were sent, each after a check of the
   * credential. Throws ApiError 429 when WS_QUEUE_MAX_TURNS of them wait for it.
   */
  private queue(frame: ClientFrame, handler: EventHandler): void {
    const { WS_QUEUE_MAX_TURNS } = this.shared.environment;
    if (this.queued > WS_QUEUE_MAX_TURNS) {
      throw ApiError.of('too_many_queued_requests', `At most ${WS_QUEUE_MAX_TURNS} events may wait. Retry later.`);
    }
    this.queued += 1;
    this.events = this.events.then(async () => {
      try {
        await this.shared.guard.check(this.connection);
        if (this.connection.isOpen) void this.handle(frame, handler);
      } catch (error) {
        this.answer(error);
      }
      this.queued -= 1;
    });
  }

  /** Has a gateway handle an event, and sends what it answers as long as the connection is open. */
  private async handle(frame: ClientFrame, handler: EventHandler): Promise<void> {
    try {
      const answers = this.gateway
        .toObservable(handler.callback(frame))
        .pipe(takeUntil(fromEvent(this.socket, 'close')));
      await answers.forEach((answer) => {
        if (answer != null) this.connection.writer.answer(JSON.stringify(answer));
      });
    } catch (error) {
      this.answer(error);
    }
  }

  private submit(options: SocketTurnOptions): void {
    const turns = this.allTurns;
    turns.submit(new SocketTurn(turns, options));
  }

  private get allTurns(): ConnectionTurns {
    this.turns ??= new ConnectionTurns(this.connection, this.gateway, this.shared);
    return this.turns;
  }

  private answer(error: unknown): void {
    const requestId = this.nextRequestId();
    const refusal = error instanceof ApiError ? error : unexpectedError(error, this.connection.callerOf(requestId));
    logRefusal(() => this.connection.id, refusal, requestId);
    this.connection.refuse(refusal, { requestId });
  }

  /** Every frame has a request id of its own. */
  private nextRequestId(): string {
    return this.shared.ids.next('req');
  }
}
