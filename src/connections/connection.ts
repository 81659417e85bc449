import type { IncomingHttpHeaders } from 'node:http';
import type { Duplex } from 'node:stream';

import { Logger } from '@nestjs/common';
import type { WebSocket } from 'ws';

import type { Caller, Grant, Tenant } from '../access/index.js';
import type { Environment } from '../config/index.js';
import { type ApiError, type ErrorFrameOptions, toErrorFrame } from '../protocol/index.js';
import type { Clock, Timer } from '../time/index.js';
import { ClientSocket, type ClientSocketListener } from './client-socket.js';
import { type Closing, expired, HANDSHAKE_MS, idle, inWords, SHORT_HANDSHAKE_MS } from './closing.js';
import type { ConnectionWork } from './connection-work.js';
import { type FrameWriterListener, FrameWriter } from './frame-writer.js';
import { type HeartbeatDependencies, Heartbeat } from './heartbeat.js';
import type { SocketPlace } from './socket-quota.js';

/** An accepted upgrade. */
export interface Upgraded {
  readonly socket: ClientSocket;
  /** The transport under the socket. */
  readonly stream: Duplex;
  /** The headers of the upgrade; their credential is checked again for every turn. */
  readonly headers: IncomingHttpHeaders;
  readonly caller: Caller;
  /** Whether a web page has opened it with a token; otherwise the headers have a credential. */
  readonly hasToken: boolean;
  /** The place of the socket among those of its tenant. */
  readonly place: SocketPlace;
}

/** The dependencies that all connections share. */
export interface ConnectionDependencies {
  readonly clock: Clock;
  readonly environment: Environment;
  readonly onClosed: (connection: Connection) => void;
  readonly onRefused: (error: ApiError) => void;
}

const logger = new Logger('Connection');

/** A client's socket from its upgrade to its end: lifetime limits and the closing sequence. */
export class Connection implements ClientSocketListener, FrameWriterListener, HeartbeatDependencies {
  readonly tenant: Tenant;
  /** Whether a web page has opened it with a token. */
  readonly hasToken: boolean;
  /** The place of the socket among those of its tenant, which its end gives back. */
  readonly place: SocketPlace;
  /** What its credential permits; as of the latest check. */
  grant: Grant;
  /** The headers of the upgrade, without what belongs to the turn of the client in which it connected. */
  readonly headers: IncomingHttpHeaders;
  readonly writer: FrameWriter;
  /** Milliseconds since the epoch. */
  readonly since: number;
  private readonly socket: ClientSocket;
  private readonly heartbeat: Heartbeat;
  private lifeTimer: Timer;
  private idleTimer: Timer | null = null;
  private handshakeTimer: Timer | null = null;
  private work: ConnectionWork | null = null;
  private closing: Closing | null = null;
  private ended = false;
  private handshakeMs = HANDSHAKE_MS;

  constructor(
    readonly id: string,
    { socket, stream, headers: { 'x-codex-turn-state': _, ...headers }, caller, hasToken, place }: Upgraded,
    private readonly dependencies: ConnectionDependencies,
  ) {
    const { clock, environment } = dependencies;
    const { requestId, connectionId: _connectionId, ...grant } = caller;
    this.tenant = grant.tenant;
    this.grant = grant;
    this.headers = headers;
    this.hasToken = hasToken;
    this.place = place;
    this.socket = socket;
    this.since = clock.now();
    logger.debug(`${id} of tenant ${caller.tenant} opened by request ${requestId}`);
    this.writer = new FrameWriter(socket, stream, clock, environment.WS_MAX_BUFFERED_BYTES, this);
    this.heartbeat = new Heartbeat(this, clock, environment.WS_PING_INTERVAL_MS);
    socket.on('ping', (data: Buffer) => this.writer.pong(data));
    socket.on('pong', () => this.heartbeat.onPong());
    socket.listener = this;
    socket.on('close', (code: number, reason: Buffer) => this.end(code, String(reason)));
    const { WS_MAX_LIFETIME_MS, WS_EXPIRY_NOTICE_MS, WS_IDLE_TIMEOUT_MS } = environment;
    this.lifeTimer =
      WS_EXPIRY_NOTICE_MS > 0 && WS_EXPIRY_NOTICE_MS < WS_MAX_LIFETIME_MS
        ? clock.schedule(WS_MAX_LIFETIME_MS - WS_EXPIRY_NOTICE_MS, () => this.giveNotice())
        : this.expireIn(WS_MAX_LIFETIME_MS);
    if (WS_IDLE_TIMEOUT_MS > 0) this.idleTimer = clock.schedule(WS_IDLE_TIMEOUT_MS, () => this.leaveIfIdle());
  }

  /** The caller of one of its frames. */
  callerOf(requestId: string): Caller {
    return { ...this.grant, connectionId: this.id, requestId };
  }

  /** Answers a frame with an error frame (protocol §6.3). */
  refuse(error: ApiError, options: ErrorFrameOptions): void {
    this.dependencies.onRefused(error);
    this.writer.answer(toErrorFrame(error, options));
  }

  /** Sets the turns of the connection. */
  carry(work: ConnectionWork): void {
    this.work = work;
  }

  /** The lanes of the connection, as its tenant sees them. */
  lanes(): ReturnType<ConnectionWork['lanes']> {
    return this.work?.lanes() ?? [];
  }

  /** Whether messages can still be sent. */
  get isOpen(): boolean {
    return this.socket.readyState === this.socket.OPEN;
  }

  /** The error for new turns once the connection is closing. */
  get refusal(): ApiError | null {
    return this.closing?.refusal ?? null;
  }

  /** Restarts the idle timeout: a message arrived, or a turn ended. */
  touch(): void {
    this.idleTimer?.refresh();
  }

  /**
   * Closes the connection because of age, idleness, shutdown or a request of its tenant: refuses new turns, waits for
   * the grace period, stops the remaining turns, sends the final frame and closes. Only the first call has an effect.
   */
  async retire(closing: Closing): Promise<void> {
    if (this.closing !== null) return;
    this.closing = closing;
    const { work } = this;
    const { clock } = this.dependencies;
    work?.refuse(closing.refusal);
    const whenIdle = work?.whenIdle() ?? Promise.resolve();
    if (work?.isIdle === false && (await clock.within(whenIdle, closing.graceMs)) === undefined) {
      work.stop(closing.stop);
      await clock.within(whenIdle, SHORT_HANDSHAKE_MS);
    }
    if (closing.farewell !== undefined) this.writer.answer(toErrorFrame(closing.farewell));
    this.close(closing.code, closing.reason, HANDSHAKE_MS);
  }

  /** Closes the connection of a client that does not read; buffered messages will not reach it in time. */
  dropSlowReader(): void {
    logger.warn(`${this.id} of tenant ${this.tenant} is closed: the client does not read its messages`);
    this.close(1013, 'too_much_unread_output', SHORT_HANDSHAKE_MS);
  }

  /** Closes the connection of a client whose message is not received any more: there is no memory for it. */
  dropLargeMessage(): void {
    logger.debug(
      `${this.id} of tenant ${this.tenant} is closed: BODY_TOTAL_BYTES is used up, and its message is the largest`,
    );
    this.close(1013, 'too_many_large_messages', SHORT_HANDSHAKE_MS);
  }

  /** Terminates the connection of a client that does not answer pings: a handshake would not be answered either. */
  dropSilent(): void {
    logger.debug(`${this.id} did not answer pings`);
    this.terminate();
  }

  /** Ends the connection without a handshake. */
  terminate(): void {
    this.socket.terminate();
  }

  /** Sends all pending messages, then terminates the connection without a handshake, like a broken network. */
  async cut(): Promise<void> {
    await this.writer.allSent();
    // Queued turns must not start.
    this.work?.end();
    this.terminate();
  }

  /** Pending messages are sent before the close frame. */
  beforeClose(): void {
    this.writer.makeWay();
  }

  /** The closing handshake began on either side: frees the turns and limits the time of the handshake. */
  afterClose(): void {
    this.work?.end();
    this.handshakeTimer ??= this.dependencies.clock.schedule(this.handshakeMs, () => this.terminate());
  }

  private close(code: number, reason: string, handshakeMs: number): void {
    if (this.ended) return;
    this.handshakeMs = handshakeMs;
    this.socket.close(code, reason);
    this.writer.flush();
  }

  private expireIn(delayMs: number): Timer {
    const { clock, environment } = this.dependencies;
    return clock.schedule(delayMs, () => void this.retire(expired(environment)));
  }

  private giveNotice(): void {
    if (this.closing !== null) return;
    const { WS_EXPIRY_NOTICE_MS, WS_MAX_LIFETIME_MS } = this.dependencies.environment;
    this.lifeTimer = this.expireIn(WS_EXPIRY_NOTICE_MS);
    const message = {
      type: 'connection_expiring',
      code: 'connection_expiring',
      message: `This connection will be closed in ${inWords(WS_EXPIRY_NOTICE_MS)}. Open a new one to continue.`,
      expires_at: Math.floor((this.since + WS_MAX_LIFETIME_MS) / 1000),
    };
    this.writer.answer(JSON.stringify(message));
  }

  private leaveIfIdle(): void {
    if (this.work?.isIdle === false) this.idleTimer?.refresh();
    else void this.retire(idle());
  }

  private end(code: number, reason: string): void {
    this.ended = true;
    this.writer.end();
    this.heartbeat.stop();
    this.lifeTimer.cancel();
    this.idleTimer?.cancel();
    this.handshakeTimer?.cancel();
    this.work?.end();
    this.dependencies.onClosed(this);
    logger.debug(`${this.id} of tenant ${this.tenant} closed with ${code} ${JSON.stringify(reason)}`);
  }
}

/**
 * The connection of a socket on the path of this service, as a gateway receives it with `@ConnectedSocket()`; undefined
 * for other sockets.
 */
export function connectionOf(socket: WebSocket): Connection | undefined {
  const listener = socket instanceof ClientSocket ? socket.listener : null;
  return listener instanceof Connection ? listener : undefined;
}
