import {
  type CallToolResult,
  type Client,
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  parseJSONRPCMessage,
  PROTOCOL_VERSION_META_KEY,
  type StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';

import { isObject } from '../../validation/index.js';
import type { AnswerHead } from './answer-head.js';
import { ACCEPTED, type HttpClient } from './bounded-fetch.js';
import { type AnswerListener, HttpAnswer } from './http-answer.js';
import type { McpProgress } from './mcp-server.js';
import { closed } from './failures.js';
import { type CallChannel, type CallRequest, type CallTokens, type Resumption, ToolCall } from './tool-call.js';

/** The first id of a call: the library of the protocol counts its own requests from 0. */
const FIRST_ID = 1_000_000_000;

/** Names that headers can hold as they are. */
const PLAIN_NAME = /^[\w./-]+$/;

/** The extension of schemas by which arguments are sent as headers, too. */
const MIRRORED = '"x-mcp-header"';

/** What calls are sent with. */
export interface ToolCallsParts {
  readonly client: Client;
  readonly transport: StreamableHTTPClientTransport;
  readonly http: HttpClient;
  readonly url: URL;
  readonly mostBytes: number;
  /** Of all requests, names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Null without. */
  readonly tokens: CallTokens | null;
  readonly clientInfo: object;
  readonly resumption: Resumption;
  /** Waits before a stream is asked for again; returns what ends the pause. */
  readonly pause: (delayMs: number, reconnect: () => void) => () => void;
}

/**
 * The calls of a connection over streamable HTTP. They are sent past the library of the protocol, whose schemas, headers, signals and
 * streams take several times as long as the HTTP request (docs/mcp.md); it makes the connection, reads lists and gets all other messages.
 */
export class ToolCalls implements CallChannel {
  private readonly running = new Map<unknown, ToolCall>();
  private readonly path: string;
  readonly isModern: boolean;
  private readonly headers: Readonly<Record<string, string>>;
  private readonly meta: object;
  private nextId = FIRST_ID;
  /** Tools whose arguments are headers, too. */
  private mirrored: ReadonlySet<string> = new Set();
  /** Whether a call was redirected to where the library follows. */
  private isElsewhere = false;

  constructor(private readonly parts: ToolCallsParts) {
    const { client, transport, url, headers, clientInfo } = parts;
    this.path = url.pathname + url.search;
    this.isModern = client.getProtocolEra() === 'modern';
    const version = client.getNegotiatedProtocolVersion();
    const { sessionId } = transport;
    this.headers = {
      ...ACCEPTED,
      ...headers,
      accept: 'application/json, text/event-stream',
      ...(sessionId === undefined ? {} : { 'mcp-session-id': sessionId }),
      ...(version === undefined ? {} : { 'mcp-protocol-version': version }),
    };
    this.meta = this.isModern
      ? {
          [PROTOCOL_VERSION_META_KEY]: version,
          [CLIENT_INFO_META_KEY]: clientInfo,
          [CLIENT_CAPABILITIES_META_KEY]: {},
        }
      : {};
    // What belongs to a call may come on another stream.
    const receive = transport.onmessage;
    transport.onmessage = (message, ...more) => {
      if (!this.take(message)) receive?.(message, ...more);
    };
  }

  get hasSession(): boolean {
    return this.parts.transport.sessionId !== undefined;
  }

  /** Learns what calls of listed tools need. */
  learn(tools: readonly { readonly name: string; readonly inputSchema: object }[]): void {
    if (!this.isModern) return;
    const mirrored = tools.filter(({ inputSchema }) => JSON.stringify(inputSchema).includes(MIRRORED));
    this.mirrored = new Set(mirrored.map(({ name }) => name));
  }

  /** Whether a call can be sent here. */
  canSend(name: string): boolean {
    return !this.isElsewhere && (!this.isModern || (PLAIN_NAME.test(name) && !this.mirrored.has(name)));
  }

  /**
   * Sends a call. Rejects with McpFailure, of which SessionGoneError is one, with NotHandledError, and with the reason of the signal, of
   * which the server is told at once.
   */
  run(
    name: string,
    args: Readonly<Record<string, unknown>>,
    signal: AbortSignal,
    onProgress: (progress: McpProgress) => void,
  ): Promise<CallToolResult> {
    const id = this.nextId++;
    const params = { name, arguments: args, _meta: { ...this.meta, progressToken: id } };
    const body = JSON.stringify({ method: 'tools/call', params, jsonrpc: '2.0', id });
    const described: Record<string, string> = this.isModern ? { 'mcp-method': 'tools/call', 'mcp-name': name } : {};
    const headers = { 'content-type': 'application/json', ...described };
    const call = new ToolCall(id, { method: 'POST', headers, body }, this, signal, onProgress);
    this.running.set(id, call);
    return call.run();
  }

  /** Takes a message that belongs to a call; false for all others. */
  take(message: unknown): boolean {
    if (!isObject(message)) return false;
    const { id, method, params } = message;
    if (method == null) {
      const call = this.running.get(Number(id));
      call?.answered(message);
      return call !== undefined;
    }
    if (method !== 'notifications/progress' || !isObject(params)) return false;
    const call = this.running.get(Number(params['progressToken']));
    call?.progressed(params);
    return call !== undefined;
  }

  receive(message: unknown): void {
    if (!this.take(message)) this.parts.transport.onmessage?.(parseJSONRPCMessage(message));
  }

  send({ method, headers, body }: CallRequest, token: string | null, listener: AnswerListener): HttpAnswer {
    const { http, url, mostBytes } = this.parts;
    const answer = new HttpAnswer(mostBytes, listener);
    const authorization = token === null ? {} : { authorization: `Bearer ${token}` };
    const all = { ...this.headers, ...headers, ...authorization };
    http.send({ origin: url.origin, path: this.path, method, headers: all, body }, answer);
    return answer;
  }

  get tokens(): CallTokens | null {
    return this.parts.tokens;
  }

  get resumption(): Resumption {
    return this.parts.resumption;
  }

  pause(delayMs: number, reconnect: () => void): () => void {
    return this.parts.pause(delayMs, reconnect);
  }

  redirects({ status, location }: AnswerHead): boolean {
    // Others than 307 and 308 do not ask for the call again, and may mean that it was handled.
    if (location === undefined || (status !== 307 && status !== 308)) return false;
    const { url } = this.parts;
    // The library looks at the rest of the origin: from http to https it follows.
    const isElsewhere = URL.parse(location, url.href)?.hostname === url.hostname;
    this.isElsewhere ||= isElsewhere;
    return isElsewhere;
  }

  ended(id: number): void {
    this.running.delete(id);
  }

  cancel(requestId: number, reason: unknown): void {
    // From 2026-07-28 on the end of its stream says it.
    if (this.isModern) return;
    const notification = { method: 'notifications/cancelled', params: { requestId, reason: String(reason) } } as const;
    this.parts.client.notification(notification).catch(() => undefined);
  }

  /** Ends all calls: the connection is closed. */
  close(): void {
    for (const call of this.running.values()) call.end(closed());
  }
}
