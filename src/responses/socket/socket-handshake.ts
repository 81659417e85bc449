import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

import { Injectable, Logger } from '@nestjs/common';
import { type Server, WebSocketServer } from 'ws';

import { bearerOf, type Caller, Credentials, type Grant, requireScope } from '../../access/index.js';
import { Environment } from '../../config/index.js';
import { ClientSocket, ConnectionRegistry, type Upgraded } from '../../connections/index.js';
import {
  answerRaw,
  ApiRoutes,
  checkHead,
  chooseRequestId,
  describeTarget,
  isAnswering,
  logRefusal,
  openAiHeaders,
  toApiError,
} from '../../http/index.js';
import { ApiError, IdGenerator, REASONING_INCLUDED } from '../../protocol/index.js';
import { andThen, Clock, isPromise, type MaybePromise } from '../../time/index.js';
import { SocketTokens, SUBPROTOCOL, TOKEN_PREFIX } from '../../access/socket-tokens/index.js';
import { CountedReasoning } from '../turn/counted-reasoning.js';
import { ConnectionHandlers } from './connection-handler.js';

/** The path under which the gateway is registered. It answers on the paths of `POST /responses` (ApiRoutes). */
export const RESPONSES_PATH = '/v1/responses';

/** Fragments of a message: each takes memory besides its bytes. */
const MOST_FRAGMENTS = 1024;

/** Messages compressed at the same time, for all connections. */
const CONCURRENT_COMPRESSIONS = 10;

/** Opens sockets: authenticates upgrades and refuses them with the same error bodies as HTTP requests. */
@Injectable()
export class SocketHandshake {
  private readonly logger = new Logger('Socket');
  private server: Server<typeof ClientSocket> | null = null;
  /** Request ids of handshakes. */
  private readonly requestIds = new WeakMap<IncomingMessage, string>();

  constructor(
    private readonly environment: Environment,
    private readonly credentials: Credentials,
    private readonly tokens: SocketTokens,
    private readonly registry: ConnectionRegistry,
    private readonly handlers: ConnectionHandlers,
    private readonly ids: IdGenerator,
    private readonly routes: ApiRoutes,
    private readonly reasoning: CountedReasoning,
    private readonly clock: Clock,
  ) {}

  /** The WebSocket server of this service's paths; upgrades are passed to it. */
  createServer(): Server<typeof ClientSocket> {
    const { WS_MAX_MESSAGE_BYTES, WS_COMPRESSION } = this.environment;
    const server = new WebSocketServer<typeof ClientSocket>({
      noServer: true,
      WebSocket: ClientSocket,
      maxPayload: WS_MAX_MESSAGE_BYTES,
      maxFragments: MOST_FRAGMENTS,
      // readFrame validates UTF-8, so that an invalid message gets an error frame and the connection stays open.
      skipUTF8Validation: true,
      // Never a token: proxies log what is selected.
      handleProtocols: (offered) =>
        offered.has(SUBPROTOCOL) ? SUBPROTOCOL : ([...offered].find((name) => !name.startsWith(TOKEN_PREFIX)) ?? false),
      // FrameWriter sends pongs: unread ones would accumulate.
      autoPong: false,
      perMessageDeflate: WS_COMPRESSION && {
        concurrencyLimit: CONCURRENT_COMPRESSIONS,
        // About 160 kB per connection that compresses, instead of 256.
        zlibDeflateOptions: { level: 3, memLevel: 6 },
      },
    });
    server.on('headers', (headers, request) => {
      const included = this.reasoning.isCounted ? { [REASONING_INCLUDED]: 'true' } : {};
      const ours = Object.entries({ ...openAiHeaders(this.requestIdOf(request)), ...included });
      headers.push(...ours.map(([name, value]) => `${name}: ${value}`));
    });
    server.on('wsClientError', ({ message }: Error, stream: Duplex, request: IncomingMessage) =>
      this.refuse(request, stream, invalidHandshake(message)),
    );
    this.server = server;
    return server;
  }

  isOurs(server: unknown): boolean {
    return server === this.server;
  }

  /**
   * Answers an upgrade on this service's paths, with a socket that the server emits as its connection, or with an HTTP
   * error.
   */
  open(request: IncomingMessage, stream: Duplex, head: Buffer): void {
    try {
      checkHead(request);
      this.requireSockets();
      const ofToken = this.tokens.grantOf(request.headers);
      const hasToken = ofToken !== undefined;
      const grant = this.grantOf(request, ofToken);
      const admitted = andThen(grant, (known) => this.admit(request, known));
      if (isPromise(admitted)) {
        const release = this.registry.holdUpgrade(stream);
        const upgrade = admitted
          .finally(release)
          .then((known) => this.upgrade(request, stream, head, { ...known, hasToken }));
        upgrade.catch((error: unknown) => this.refuse(request, stream, error));
      } else {
        this.upgrade(request, stream, head, { ...admitted, hasToken });
      }
    } catch (error) {
      this.refuse(request, stream, error);
    }
  }

  /** What the token permits; without one, what the credential does. A wrong credential is refused beside a token too. */
  private grantOf(request: IncomingMessage, ofToken: MaybePromise<Grant> | undefined): MaybePromise<Grant> {
    if (ofToken === undefined) return this.credentials.check(request);
    if (bearerOf(request.headers) === '') return ofToken;
    const ofCredential = this.credentials.check(request);
    return andThen(ofCredential, () => ofToken);
  }

  /** Refuses an upgrade on any other path. */
  refuseUnknownPath(request: IncomingMessage, stream: Duplex): void {
    const path = (request.url ?? '').replace(/[?#].*$/, '').slice(0, 200);
    const message = `No WebSocket at ${path}. Use ${this.routes.responses.join(' or ')}.`;
    this.refuse(request, stream, ApiError.of('unknown_url', message));
  }

  private refuse(request: IncomingMessage, stream: Duplex, thrown: unknown): void {
    // While a previous request is being answered, this would be taken for its answer.
    if (isAnswering(stream)) {
      stream.destroy();
      return;
    }
    const requestId = this.requestIdOf(request);
    const error = toApiError(thrown, requestId);
    if (error.status >= 500 && error !== thrown) this.logger.error(`upgrade ${requestId} failed`, thrown);
    else logRefusal(() => `upgrade ${describeTarget(request)}`, error, requestId);
    const headers = { ...(error.status === 426 ? { upgrade: 'websocket' } : {}), ...openAiHeaders(requestId) };
    answerRaw(stream, error, headers, this.clock);
  }

  /** Throws ApiError 426, after which clients with a WebSocket mode fall back to HTTP. */
  private requireSockets(): void {
    if (this.environment.WS_ENABLED) return;
    throw ApiError.of('websocket_not_supported', 'WebSocket mode is disabled on this server. Use HTTP.');
  }

  /** The caller, with its place among the sockets of its tenant. Throws ApiError 400, 403, 405 or 503. */
  private admit(request: IncomingMessage, grant: Grant): MaybePromise<Pick<Upgraded, 'caller' | 'place'>> {
    const caller = this.checkUpgrade(request, grant);
    const place = this.registry.takePlace(caller.tenant);
    return andThen(place, (taken) => ({ caller, place: taken }));
  }

  /** Completes an upgrade. */
  private upgrade(
    request: IncomingMessage,
    stream: Duplex,
    head: Buffer,
    admitted: Pick<Upgraded, 'caller' | 'place' | 'hasToken'>,
  ): void {
    // What may hold a token goes no further.
    const { 'sec-websocket-protocol': _, ...headers } = request.headers;
    declineInvalidOffers(request.headers);
    const handshake = { isComplete: false };
    this.server?.handleUpgrade(request, stream, head, (socket) => {
      handshake.isComplete = true;
      this.start({ socket, stream, headers, ...admitted });
    });
    // The handshake is not valid, or its client has left.
    if (!handshake.isComplete) admitted.place.release?.();
  }

  private checkUpgrade(request: IncomingMessage, grant: Grant): Caller {
    if (isAnswering(request.socket)) throw invalidHandshake('The previous request is still being answered');
    if (request.method !== 'GET') throw wrongMethod(request.method ?? '');
    // Version 8 uses another header than `Origin` and is obsolete.
    if (request.headers['sec-websocket-version'] !== '13') {
      throw invalidHandshake('Missing or unsupported Sec-WebSocket-Version header', { 'sec-websocket-version': '13' });
    }
    requireScope(grant, 'responses:write');
    this.registry.requireOpen();
    return { ...grant, requestId: this.requestIdOf(request), connectionId: this.registry.nextId() };
  }

  private start(upgraded: Upgraded): void {
    const { socket, caller } = upgraded;
    const { connectionId } = caller;
    // `ws` closes the connection with the right code for invalid frames and for messages that are too large.
    socket.on('error', (error: NodeJS.ErrnoException) => {
      const isTooLarge = error.code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH';
      const refusal = isTooLarge
        ? ApiError.of('request_too_large', error.message)
        : ApiError.badRequest(error.message, null);
      logRefusal(() => String(connectionId), refusal);
      this.logger.debug(`${connectionId}: ${error.message}`);
    });
    try {
      if (this.handlers.start(upgraded)) this.server?.emit('connection', socket);
    } catch (error) {
      // The handshake is complete: an HTTP error is no longer possible.
      this.logger.error(`connection of request ${caller.requestId} failed`, error);
      socket.close(1011);
    }
  }

  private requestIdOf(request: IncomingMessage): string {
    const known = this.requestIds.get(request);
    if (known !== undefined) return known;
    const requestId = chooseRequestId(request, this.ids);
    this.requestIds.set(request, requestId);
    return requestId;
  }
}

function invalidHandshake(why: string, headers: Readonly<Record<string, string>> = {}): ApiError {
  const message = `The WebSocket handshake is not valid: ${why}.`;
  return new ApiError(400, 'invalid_request_error', null, null, message, headers);
}

function wrongMethod(method: string): ApiError {
  const message = `A WebSocket handshake requires GET, not ${method}.`;
  return ApiError.of('method_not_supported', message, { headers: { allow: 'GET' } });
}

/** An offer of compression as RFC 7692 section 7.1 allows it. */
const PARAMETER = [
  'server_no_context_takeover',
  'client_no_context_takeover',
  'server_max_window_bits=("?)(?:8|9|1[0-5])\\1',
  'client_max_window_bits(?:=("?)(?:8|9|1[0-5])\\2)?',
].join('|');
const OFFER = new RegExp(`^permessage-deflate(?:\\s*;\\s*(?:${PARAMETER}))*$`);

/** Leaves out offers of extensions that are not valid, or not known: `ws` would refuse the upgrade instead of taking the next one. */
function declineInvalidOffers(headers: IncomingMessage['headers']): void {
  const offered = headers['sec-websocket-extensions'];
  if (offered === undefined) return;
  const valid = offered
    .split(',')
    .map((offer) => offer.trim())
    .filter((offer) => {
      const names = offer.split(';').map((parameter) => parameter.split('=')[0]?.trim());
      return OFFER.test(offer) && new Set(names).size === names.length;
    });
  if (valid.length > 0) headers['sec-websocket-extensions'] = valid.join(', ');
  else delete headers['sec-websocket-extensions'];
}
