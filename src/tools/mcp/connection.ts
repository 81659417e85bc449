import {
  Client,
  type CallToolResult,
  isJSONRPCRequest,
  ProtocolError,
  SdkError,
  SdkHttpError,
  SSEClientTransport,
  SseError,
  StreamableHTTPClientTransport,
  type Tool,
  type Transport,
  UnauthorizedError,
} from '@modelcontextprotocol/client';

import { readVersion } from '../../read-version.js';
import { type Clock, LONGEST_DELAY_MS } from '../../time/index.js';
import { parseJson } from '../../validation/index.js';
import { type HttpClient, LONGEST_STREAM, type RequestScope, requestScope } from './bounded-fetch.js';
import { isOfLostSession, McpFailure, NOT_VALID, notValid, SessionGoneError, toConnectionFailure } from './failures.js';
import type { McpProgress } from './mcp-server.js';
import { ServerMessages } from './server-messages.js';
import { type CallTokens, NotHandledError, toResult } from './tool-call.js';
import { ToolCalls } from './tool-calls.js';

// Servers before 2025-03-26 have no other transport.
// eslint-disable-next-line @typescript-eslint/no-deprecated
const OlderTransport = SSEClientTransport;
type OlderTransport = InstanceType<typeof OlderTransport>;

/** What a connection needs. */
export interface ConnectionSettings {
  readonly url: URL;
  readonly transport: 'auto' | 'streamable-http' | 'sse';
  readonly headers: Readonly<Record<string, string>>;
  /** Tokens that are sent as `Bearer`; null without. */
  readonly tokens: CallTokens | null;
  readonly http: HttpClient;
  /** Of one answer, of one event of a stream, or of all pages of a list. */
  readonly mostBytes: number;
  /** The server says that its list of tools has changed. */
  readonly onListChanged: () => void;
}

/** Pages of a list. */
const MOST_PAGES = 64;

/** How long a server may take to end a session, ms. */
const GOODBYE_MS = 1000;

/** Attempts to resume a broken stream, and the pauses between them, ms. */
const RESUMPTION = {
  maxRetries: 4,
  initialReconnectionDelay: 200,
  reconnectionDelayGrowFactor: 2,
  maxReconnectionDelay: 2000,
};

/** So many times after a request, the streams of a connection are opened again when the server asks for it. Later ones wait longer and longer. */
const SOON = 4;
/** The longest of these pauses, ms. */
const LONGEST_WAIT_MS = 30_000;

/** The streams of a connection: a server may send without end, and may ask for another stream at once, and for ever. */
class OpenStreams {
  /** How often a stream was opened again since the last request. */
  private count = 0;
  /** Bytes received since the last request: on streams that may carry its answer, and on the others. */
  private asked = 0;
  private unasked = 0;

  /** `mostBytes`: of one answer. */
  constructor(
    private readonly clock: Clock,
    private readonly mostBytes: number,
  ) {}

  /** A request begins. */
  reset(): void {
    this.count = 0;
    this.asked = 0;
    this.unasked = 0;
  }

  /** Takes bytes of a stream, and says whether it must end. `isAsked`: whether it may have the answer to a request. */
  isTooMuch(bytes: number, isAsked: boolean): boolean {
    if (isAsked) this.asked += bytes;
    else this.unasked += bytes;
    return this.unasked > this.mostBytes || this.asked > this.mostBytes * LONGEST_STREAM;
  }

  /** Waits before a stream is opened again, and returns what ends the pause. */
  pause(delayMs: number, reconnect: () => void): () => void {
    this.count += 1;
    const waits = this.count - SOON;
    const leastMs = waits <= 0 ? 0 : Math.min(RESUMPTION.initialReconnectionDelay * 2 ** waits, LONGEST_WAIT_MS);
    const timer = this.clock.schedule(Math.max(delayMs, leastMs), reconnect);
    return () => timer.cancel();
  }
}

/** Ends the streams of a request. One for all: to make an error for each, with its stack, takes as long as to send a call. */
const OVER = new Error('The request is over.');

/** Codes of JSON-RPC: for a stream that ended without an answer, and for a method that a server does not have. */
const CONNECTION_CLOSED = -32_000;
const METHOD_NOT_FOUND = -32_601;

/** Takes each result: the library would refuse one for a member that nothing here reads. */
const ANY_RESULT = {
  '~standard': { version: 1, vendor: 'antiphon', validate: (value: unknown) => ({ value }) },
} as const;

/** An open connection to a server: over streamable HTTP a session, over the older SSE a stream. Any number of requests may share it. */
export class McpConnection {
  private hasEnded = false;

  private constructor(
    private readonly client: Client,
    private readonly transport: StreamableHTTPClientTransport | OlderTransport,
    private readonly clock: Clock,
    private readonly streams: OpenStreams,
    /** Null over the older transport, whose answers come on one stream: there the library sends calls, too. */
    private readonly calls: ToolCalls | null,
    private readonly messages: ServerMessages,
  ) {
    client.onclose = () => {
      if (!this.hasEnded) calls?.close();
      this.hasEnded = true;
    };
    client.onerror = (error) => {
      // A new stream of this kind is a new session, which the library does not begin.
      if (error instanceof SseError) void this.close();
    };
  }

  /**
   * Connects, with the newest version of the protocol that both sides have. Rejects with McpFailure, and the reason of the signal.
   */
  static async open(settings: ConnectionSettings, clock: Clock, signal: AbortSignal): Promise<McpConnection> {
    const { transport } = settings;
    if (transport !== 'sse') {
      try {
        return await this.openStreamable(settings, clock, signal);
      } catch (error) {
        if (transport !== 'auto' || !isOfOlderServer(error)) throw error;
      }
    }
    const streams = new OpenStreams(clock, settings.mostBytes);
    return this.connect(clock, signal, olderSse(settings, streams), settings, streams);
  }

  private static async openStreamable(
    settings: ConnectionSettings,
    clock: Clock,
    signal: AbortSignal,
  ): Promise<McpConnection> {
    const streams = new OpenStreams(clock, settings.mostBytes);
    try {
      return await this.connect(clock, signal, streamable(settings, streams), settings, streams);
    } catch (error) {
      if (!isOfUnknownMethod(error)) throw error;
    }
    const more = new OpenStreams(clock, settings.mostBytes);
    return this.connect(clock, signal, streamable(settings, more), settings, more, 'legacy');
  }

  private static async connect(
    clock: Clock,
    signal: AbortSignal,
    transport: StreamableHTTPClientTransport | OlderTransport,
    settings: ConnectionSettings,
    streams: OpenStreams,
    mode: 'auto' | 'legacy' = 'auto',
  ): Promise<McpConnection> {
    const { onListChanged: onChanged, url, headers, tokens, http, mostBytes } = settings;
    const clientInfo = { name: 'antiphon', version: readVersion() };
    const client = new Client(clientInfo, {
      versionNegotiation: { mode },
      listMaxPages: MOST_PAGES,
      listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged } },
      // The model reads results as they are; a schema of the server must not cost this process time.
      jsonSchemaValidator: {
        getValidator: () => (input) => ({ valid: true, data: input as never, errorMessage: undefined }),
      },
    });
    const messages = new ServerMessages(transport);
    scopeRequests(transport);
    const abort = (): void => void transport.close();
    signal.addEventListener('abort', abort, { once: true });
    try {
      await client.connect(transport, { signal, timeout: LONGEST_DELAY_MS });
      const pause = (delayMs: number, reconnect: () => void): (() => void) => streams.pause(delayMs, reconnect);
      const parts = { client, http, url, mostBytes, headers, tokens, clientInfo, resumption: RESUMPTION, pause };
      const calls = transport instanceof OlderTransport ? null : new ToolCalls({ ...parts, transport });
      return new McpConnection(client, transport, clock, streams, calls, messages);
    } catch (error) {
      await transport.close().catch(() => undefined);
      signal.throwIfAborted();
      throw toFailure(error);
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  /** Whether no request can be sent any more. */
  get isGone(): boolean {
    return this.hasEnded;
  }

  /** The tools of all pages, which have the bytes of one answer together. Rejects with McpFailure, of which SessionGoneError is one. */
  async list(signal: AbortSignal): Promise<readonly Tool[]> {
    const options = { signal, timeout: LONGEST_DELAY_MS, cacheMode: 'refresh' as const };
    try {
      const { tools } = await this.send(() => this.client.listTools(undefined, options), 0);
      this.calls?.learn(tools);
      return tools;
    } catch (error) {
      // Such a server has prompts or resources only.
      if (!this.messages.declaresTools && error instanceof McpFailure && error.code === METHOD_NOT_FOUND) return [];
      throw error;
    }
  }

  /** Calls a tool. Rejects like `list`. An aborted signal tells the server at once. */
  async call(
    name: string,
    args: Readonly<Record<string, unknown>>,
    signal: AbortSignal,
    onprogress: (progress: McpProgress) => void,
  ): Promise<CallToolResult> {
    const { calls, client } = this;
    if (calls?.canSend(name) === true) {
      this.streams.reset();
      try {
        return await calls.run(name, args, signal, onprogress);
      } catch (error) {
        if (error instanceof SessionGoneError) this.forget();
        if (!(error instanceof NotHandledError)) throw error;
      }
    }
    const options = { signal, timeout: LONGEST_DELAY_MS, onprogress };
    const params = { name, arguments: { ...args } };
    // Before 2026-07-28 no argument is sent as a header, and nothing else is asked of a result than to be one.
    if (client.getProtocolEra() === 'modern') return this.send(() => client.callTool(params, options));
    const result = await this.send(() => client.request({ method: 'tools/call', params }, ANY_RESULT, options));
    return toResult(result, false);
  }

  /** Ends the session, and all requests with it. Never rejects. */
  async close(): Promise<void> {
    if (this.hasEnded) return;
    this.hasEnded = true;
    const { transport } = this;
    this.calls?.close();
    if (transport instanceof StreamableHTTPClientTransport) {
      await this.clock.within(
        transport.terminateSession().catch(() => undefined),
        GOODBYE_MS,
      );
    }
    await this.client.close().catch(() => undefined);
  }

  /** The server has forgotten the session: there is none to end. Other calls are told themselves, and sent again. */
  private forget(): void {
    this.hasEnded = true;
    void this.client.close().catch(() => undefined);
  }

  /** Sends a request in a scope of its own: when it is over, so are its streams. `kept`: 0 to bound all its answers together. */
  private async send<T>(request: () => Promise<T>, kept: 0 | null = null): Promise<T> {
    const over = new AbortController();
    this.streams.reset();
    const failed = Promise.withResolvers<never>();
    const scope: RequestScope = { signal: over.signal, kept, fail: (failure) => failed.reject(failure) };
    const hasSession =
      this.transport instanceof StreamableHTTPClientTransport && this.transport.sessionId !== undefined;
    try {
      return await Promise.race([requestScope.run(scope, request), failed.promise]);
    } catch (error) {
      if (hasSession && error instanceof SdkHttpError && isOfLostSession(error.data.status, error.data.text)) {
        this.forget();
        throw new SessionGoneError(error.data.status, error.data.text, { cause: error });
      }
      throw toFailure(error);
    } finally {
      over.abort(OVER);
    }
  }
}

function streamable(settings: ConnectionSettings, streams: OpenStreams): StreamableHTTPClientTransport {
  const { http, mostBytes } = settings;
  const fetch = http.bounded(mostBytes, {
    isAnswered: ({ method, body }) =>
      method === 'GET' || (typeof body === 'string' && isJSONRPCRequest(parseJson(body))),
    isTooMuch: (bytes, scope) => streams.isTooMuch(bytes, scope !== undefined),
  });
  return new StreamableHTTPClientTransport(settings.url, {
    ...optionsOf(settings),
    fetch,
    reconnectionOptions: RESUMPTION,
    reconnectionScheduler: (reconnect, delayMs) => streams.pause(delayMs, reconnect),
  });
}

/** The older transport, on whose one stream all answers come. */
function olderSse(settings: ConnectionSettings, streams: OpenStreams): OlderTransport {
  const fetch = settings.http.bounded(settings.mostBytes, { isTooMuch: (bytes) => streams.isTooMuch(bytes, true) });
  return new OlderTransport(settings.url, { ...optionsOf(settings), fetch });
}

function optionsOf({ headers, tokens }: ConnectionSettings): {
  requestInit: RequestInit;
  authProvider?: { token(): Promise<string>; onUnauthorized(): Promise<void> };
} {
  const requestInit = { headers: { ...headers } };
  if (tokens === null) return { requestInit };
  let last: string | null = null;
  const token = async (): Promise<string> => (last = await tokens.token());
  return { requestInit, authProvider: { token, onUnauthorized: async () => tokens.refused(last) } };
}

/** A server before 2025-03-26 does not know what is posted to the address of its stream. */
function isOfOlderServer(error: unknown): boolean {
  return error instanceof McpFailure && error.kind === 'http' && [400, 404, 405, 406, 415].includes(error.code);
}

/** Some servers fail with what they do not know, such as the question for their versions that comes before `initialize`. */
function isOfUnknownMethod(error: unknown): boolean {
  if (!(error instanceof McpFailure)) return false;
  return error.kind === 'http' ? error.code === 500 || error.code === 501 : error.code === NOT_VALID;
}

/** What an error of the library, or of HTTP below it, means. Causes are looked at first: they are nearer to it. */
function toFailure(error: unknown): McpFailure {
  const { cause } = Object(error) as { readonly cause?: unknown };
  if (error instanceof McpFailure) return error;
  if (error instanceof SdkHttpError) {
    return McpFailure.ofStatus(error.data.status, error.data.text, { cause: error });
  }
  if (error instanceof UnauthorizedError) {
    return McpFailure.ofStatus(401, null, { cause: error });
  }
  if (error instanceof ProtocolError) return McpFailure.ofError(error.code, error.message, { cause: error });
  if (cause instanceof McpFailure || (error instanceof SdkError && cause instanceof Error)) return toFailure(cause);
  if (error instanceof SdkError || error instanceof SyntaxError || (error as Error).name === 'ZodError') {
    // The messages quote what the server has sent.
    return notValid(error);
  }
  // The library has no class for it.
  if (String(error).includes('protocol version is not supported')) {
    return new McpFailure('protocol', 'The server speaks no version of the protocol that this service knows.');
  }
  return toConnectionFailure(cause ?? error);
}

/** Ties what a request sends, and the streams that answer it, to its scope. */
function scopeRequests(transport: Transport): void {
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    const scope = requestScope.getStore();
    if (scope === undefined || !isJSONRPCRequest(message)) return send(message, options);
    const own = options?.requestSignal;
    return send(message, {
      ...options,
      requestSignal: own === undefined ? scope.signal : AbortSignal.any([own, scope.signal]),
      // Without it the request would wait for its time limit.
      onRequestStreamEnd: () => {
        options?.onRequestStreamEnd?.();
        const error = { code: CONNECTION_CLOSED, message: 'The server ended the stream without an answer.' };
        transport.onmessage?.({ jsonrpc: '2.0', id: message.id, error });
      },
    });
  };
}
