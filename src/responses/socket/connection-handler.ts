import { EMPTY } from 'rxjs';
import type { RawData, WebSocket } from 'ws';

import type { Caller } from '../../access/index.js';
import type { Connection } from '../../connections/index.js';
import { ApiError, type IdGenerator, toErrorFrame } from '../../protocol/index.js';
import { type ClientFrame, readFrame, refuseEventType, streamIdOf } from './client-frame.js';
import { type Gateway, HandlerTurns, type TurnDependencies } from './handler-turns.js';
import { SocketTurn, type SocketTurnOptions } from './socket-turn.js';
import { answerInterrupt, answerSteer } from './steer.js';
import type { TurnGuard } from './turn.guard.js';
import { unexpectedError } from './unexpected-error.js';

/** Until Nest has handed one over. */
const NO_GATEWAY: Gateway = { handlers: [], toObservable: () => EMPTY };

/** What all handlers share. */
export interface HandlerDependencies extends TurnDependencies {
  readonly guard: TurnGuard;
  readonly ids: IdGenerator;
}

/** The frames that one client sends, and their answers. */
export class ConnectionHandler {
  /** Made for the first of them: thousands of sockets may be open that have not said anything yet. */
  private turns: HandlerTurns | null = null;
  private gateway = NO_GATEWAY;

  constructor(
    private readonly connection: Connection,
    socket: WebSocket,
    private readonly dependencies: HandlerDependencies,
  ) {
    socket.on('message', (data: RawData, isBinary: boolean) => this.receive(data as Buffer, isBinary));
  }

  /** Takes the handlers of a gateway. There may be several gateways on one path; the last one that asks for an event gets it. */
  handleWith({ handlers, toObservable }: Gateway): void {
    this.gateway = { handlers: [...this.gateway.handlers, ...handlers], toObservable };
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
    if (type !== 'response.create' && type !== 'response.append') {
      const handler = this.gateway.handlers.findLast((candidate) => candidate.message === type);
      if (handler !== undefined) {
        void this.hand(frame, handler);
        return;
      }
    }
    switch (type) {
      case 'response.create':
      case 'response.append':
        this.submit({ streamId: streamIdOf(frame), caller: this.nextCaller(), type, message, frame });
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

  /** Hands an event to the gateway that asked for it, and sends what it answers. */
  private async hand(frame: ClientFrame, handler: Gateway['handlers'][number]): Promise<void> {
    try {
      await this.dependencies.guard.check(this.connection);
      await this.gateway.toObservable(handler.callback(frame)).forEach((answer) => {
        if (answer !== undefined) this.connection.writer.answer(JSON.stringify(answer));
      });
    } catch (error) {
      this.answer(error);
    }
  }

  private submit(options: SocketTurnOptions): void {
    this.turns ??= new HandlerTurns(this.connection, this.gateway, this.dependencies);
    this.turns.submit(new SocketTurn(this.turns, options));
  }

  private answer(error: unknown): void {
    const caller = this.nextCaller();
    const refusal = error instanceof ApiError ? error : unexpectedError(error, caller);
    this.connection.writer.answer(toErrorFrame(refusal, { requestId: caller.requestId }));
  }

  /** Every frame has a request id of its own. */
  private nextCaller(): Caller {
    const { tenant, id: connectionId } = this.connection;
    return { tenant, connectionId, requestId: this.dependencies.ids.next('req') };
  }
}
