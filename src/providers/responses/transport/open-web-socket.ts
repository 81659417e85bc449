import type { IncomingMessage } from 'node:http';

import { type ClientOptions, WebSocket } from 'ws';

import type { Clock } from '../../../time/index.js';
import { isUnreachable } from '../../upstream-errors/unreachable.js';
import { TextCollector } from '../../upstream-http/read-text.js';
import { toUrl } from '../../upstream-http/to-url.js';
import type { UpstreamAddress } from '../../upstream-http/upstream-client.js';
import type { WebsocketOptions } from '../options.js';
import { UpstreamError } from '../upstream-error.js';
import { AnswerRefusedError } from './exchange.js';
import { broken, wordsOf } from './broken.js';

/** Bytes of one message. */
const LONGEST_MESSAGE = 64 * 1024 * 1024;

/** Bytes of the body of a refused handshake. */
const LONGEST_REFUSAL = 64 * 1024;

/** Time for the other side to answer a close frame, ms. */
const CLOSE_MS = 1000;

/** Where and how a WebSocket is opened. */
export interface HandshakeOptions {
  readonly address: UpstreamAddress;
  readonly websockets: WebsocketOptions;
  readonly clock: Clock;
  /** Headers of the handshake beside those of the address; names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

/** A handshake under way. */
export interface Handshake<Opened> {
  /**
   * What `onOpen` made of the socket. Rejects with AnswerRefusedError when the server refuses, with UpstreamError when it cannot be
   * reached or takes too long, and with the error of `cancel`.
   */
  readonly opened: Promise<Opened>;
  /** Ends the handshake, or the socket, at once. */
  cancel(error: unknown): void;
}

/** Opens a WebSocket at `/responses`. `onOpen` is called before the first message can arrive, with the answer of the handshake. */
export function openWebSocket<Opened>(
  opening: HandshakeOptions,
  onOpen: (socket: WebSocket, answer: IncomingMessage) => Opened,
): Handshake<Opened> {
  const { promise, resolve, reject } = Promise.withResolvers<Opened>();
  const socket = new WebSocket(webSocketUrl(opening.address), socketOptions(opening));
  const { connectTimeoutMs } = opening.websockets;
  const timer = opening.clock.schedule(connectTimeoutMs, () =>
    cancel(broken(`the WebSocket handshake took more than ${connectTimeoutMs} ms`)),
  );
  const cancel = (error: unknown): void => {
    timer.cancel();
    reject(error);
    socket.terminate();
  };
  let answer: IncomingMessage | null = null;
  socket.on('upgrade', (response: IncomingMessage) => (answer = response));
  socket.on('unexpected-response', (_request, response: IncomingMessage) => {
    void readRefusal(response).then(cancel);
  });
  // Terminating a handshake emits an error too, when the promise is settled.
  socket.on('error', (error) => {
    timer.cancel();
    reject(failed(error));
  });
  socket.once('open', () => {
    timer.cancel();
    socket.removeAllListeners();
    if (answer !== null) resolve(onOpen(socket, answer));
  });
  return { opened: promise, cancel };
}

function webSocketUrl(address: UpstreamAddress): URL {
  const url = toUrl(address, '/responses');
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  return url;
}

function socketOptions({ address, websockets, headers }: HandshakeOptions): ClientOptions {
  // The types of ws lack the option.
  const closing = { closeTimeout: CLOSE_MS };
  return {
    ...closing,
    headers: { ...address.headers, ...headers },
    maxPayload: LONGEST_MESSAGE,
    perMessageDeflate: websockets.compresses,
    // A failed pong is reported.
    autoPong: false,
  };
}

/** Reads the body of a refusal as far as it arrives: the status says enough. */
async function readRefusal(response: IncomingMessage): Promise<AnswerRefusedError> {
  const body = new TextCollector(LONGEST_REFUSAL);
  try {
    for await (const piece of response) {
      body.add(piece as Uint8Array);
      if (body.isFull) break;
    }
  } catch {
    // The connection broke, or the time was up.
  }
  return new AnswerRefusedError(response.statusCode ?? 0, response.headers, body.text);
}

function failed(cause: unknown): UpstreamError {
  return new UpstreamError(wordsOf(cause), { remedy: 'retry', isUnreachable: isUnreachable(cause), cause });
}
