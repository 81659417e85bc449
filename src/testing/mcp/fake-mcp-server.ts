import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';

/** A call of a tool, as its handler sees it. */
export interface FakeMcpCall {
  readonly args: Readonly<Record<string, unknown>>;
  /** Of the HTTP request. */
  readonly headers: IncomingHttpHeaders;
  /** Aborted when the client cancels the call. */
  readonly signal: AbortSignal;
  /** Sends a progress notification, if the client has asked for them. */
  progress(progress: number, total?: number, message?: string): void;
  /** Breaks the stream of the answer; a client that resumes it gets what follows. */
  drop(): void;
}

/** The result of a tool: a text, or all members of a `tools/call` result. */
export type FakeMcpResult = string | { readonly content: readonly object[]; readonly [member: string]: unknown };

/** A tool of a fake server. */
export interface FakeMcpTool {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema?: object;
  readonly outputSchema?: object;
  readonly annotations?: object;
  /** Answers a call; by default with its arguments as JSON. An error that it throws becomes one of JSON-RPC. */
  readonly handler?: (call: FakeMcpCall) => FakeMcpResult | Promise<FakeMcpResult>;
}

/** A message of JSON-RPC that a client has sent. */
export interface FakeMcpMessage {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
}

/** A message that has arrived, with the headers of its HTTP request. */
export interface FakeMcpRequest {
  readonly message: FakeMcpMessage;
  readonly headers: IncomingHttpHeaders;
}

/** Answers in place of the server, for servers that misbehave. Returns false to leave a request to it. */
export type FakeMcpBehaviour = (request: FakeMcpRequest, answer: ServerResponse) => boolean;

/** Settings of a fake server. */
export interface FakeMcpOptions {
  /** `sse`: the transport of servers before 2025-03-26. */
  readonly transport?: 'streamable-http' | 'sse';
  /** How calls are answered. */
  readonly answers?: 'events' | 'json';
  /** Tools of a page. */
  readonly pageSize?: number;
  /** Members of the answer to `initialize`, in place of all of them but the version. */
  readonly hello?: object;
  readonly behaviour?: FakeMcpBehaviour;
}

interface RunningCall {
  readonly abort: AbortController;
  /** Where events go; null while the stream is broken. */
  stream: ServerResponse | null;
  /** Events that nobody has got yet. */
  readonly unsent: string[];
}

const NOT_FOUND = -32_601;
const INTERNAL = -32_603;

/** An MCP server for tests, on a free port of this machine. It counts what it is asked for, and misbehaves on demand. */
export class FakeMcpServer implements AsyncDisposable {
  /** All messages that have arrived, the first first. */
  readonly requests: FakeMcpRequest[] = [];
  /** How the server misbehaves; null: not at all. */
  behaviour: FakeMcpBehaviour | null;
  /** Answers a client that listens for notifications in place of the server, unless it returns false. */
  listening: ((answer: ServerResponse) => boolean) | null = null;
  private readonly sessions = new Map<string, ServerResponse | null>();
  private readonly calls = new Map<string, RunningCall>();
  private readonly waiting = new Set<() => void>();
  private lastSession = 0;

  private constructor(
    private tools: readonly FakeMcpTool[],
    private readonly options: FakeMcpOptions,
    private readonly server: Server,
  ) {
    this.behaviour = options.behaviour ?? null;
  }

  /** Starts a server with tools. */
  static async start(tools: readonly FakeMcpTool[] = [], options: FakeMcpOptions = {}): Promise<FakeMcpServer> {
    const server = createServer();
    const fake = new FakeMcpServer(tools, options, server);
    server.on('request', (request, answer) => void fake.answer(request, answer));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return fake;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** The `server_url` of tools. */
  get url(): string {
    return `${this.origin}/mcp`;
  }

  /** How many messages of a method have arrived, such as `tools/call`. */
  count(method: string): number {
    return this.requests.filter(({ message }) => message.method === method).length;
  }

  /** Sessions that are open. */
  get openSessions(): number {
    return this.sessions.size;
  }

  /** Resolves when `count` messages of a method have arrived. */
  async received(method: string, count = 1): Promise<FakeMcpRequest> {
    while (this.count(method) < count) await new Promise<void>((resolve) => this.waiting.add(resolve));
    return this.requests.filter(({ message }) => message.method === method)[count - 1] as FakeMcpRequest;
  }

  /** Resolves when a client listens for notifications. */
  async listened(): Promise<void> {
    while (![...this.sessions.values()].some((stream) => stream !== null)) {
      await new Promise<void>((resolve) => this.waiting.add(resolve));
    }
  }

  /** Replaces the tools, and tells all clients that listen. */
  changeTools(tools: readonly FakeMcpTool[]): void {
    this.tools = tools;
    for (const stream of this.sessions.values()) {
      if (stream !== null) sendEvent(stream, { jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
    }
  }

  /** Forgets all sessions, as a server does that is started again. */
  forgetSessions(): void {
    for (const stream of this.sessions.values()) stream?.end();
    this.sessions.clear();
  }

  /** Ends all connections. */
  async close(): Promise<void> {
    for (const { abort } of this.calls.values()) abort.abort();
    this.server.closeAllConnections();
    const closed = once(this.server, 'close');
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  private async answer(request: IncomingMessage, answer: ServerResponse): Promise<void> {
    const { method, headers } = request;
    const session = String(headers['mcp-session-id'] ?? new URL(request.url ?? '', this.origin).searchParams.get('s'));
    if (method === 'GET') {
      if (this.listening?.(answer) !== true) this.listen(session, headers, answer);
    } else if (method === 'DELETE') {
      this.sessions.get(session)?.end();
      this.sessions.delete(session);
      answer.writeHead(204).end();
    } else {
      const message = JSON.parse(await readAll(request)) as FakeMcpMessage;
      this.requests.push({ message, headers });
      this.wake();
      if (this.behaviour?.({ message, headers }, answer) !== true) this.take(message, session, headers, answer);
    }
  }

  private listen(session: string, headers: IncomingHttpHeaders, answer: ServerResponse): void {
    const broken = this.calls.get(String(headers['last-event-id']));
    answer.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    if (broken !== undefined) {
      broken.stream = answer;
      for (const event of broken.unsent.splice(0)) answer.write(event);
      if (!this.calls.has(String(headers['last-event-id']))) answer.end();
      return;
    }
    if (this.options.transport !== 'sse') {
      this.sessions.set(session, answer);
    } else {
      const own = this.newSession(answer);
      answer.write(`event: endpoint\ndata: /messages?s=${own}\n\n`);
    }
    this.wake();
  }

  private take(message: FakeMcpMessage, session: string, headers: IncomingHttpHeaders, answer: ServerResponse): void {
    const { id, method, params = {} } = message;
    const isOld = this.options.transport === 'sse';
    if (method === 'notifications/cancelled') this.calls.get(callKey(session, params['requestId']))?.abort.abort();
    const isFirst = method === 'initialize' && !isOld;
    if (isFirst) answer.setHeader('mcp-session-id', this.newSession(null));
    if (id === undefined || !(isFirst || this.sessions.has(session))) {
      answer.writeHead(this.statusFor(session)).end();
      return;
    }
    const stream = isOld ? (this.sessions.get(session) ?? null) : null;
    const reply = (body: object): void => {
      if (stream === null) sendJson(answer, { jsonrpc: '2.0', id, ...body });
      else {
        answer.writeHead(202).end();
        sendEvent(stream, { jsonrpc: '2.0', id, ...body });
      }
    };
    if (method !== 'tools/call') {
      reply(this.replyTo(method, params));
      return;
    }
    if (this.options.answers === 'json' || stream !== null) {
      void this.run(params, headers, new AbortController().signal, null).then(reply);
      return;
    }
    void this.stream(message, session, headers, answer);
  }

  /** The status of what has no body: a notification, or a request without a session. */
  private statusFor(session: string): number {
    if (this.sessions.has(session)) return 202;
    if (session !== 'null') return 404;
    return this.options.transport === 'sse' ? 405 : 400;
  }

  private replyTo(method: string | undefined, params: Readonly<Record<string, unknown>>): object {
    if (method === 'initialize') return { result: this.hello(params) };
    if (method === 'tools/list') return { result: this.page(params) };
    return { error: { code: NOT_FOUND, message: 'Method not found' } };
  }

  /** Answers a call with events that a client can resume. */
  private async stream(
    { id, params = {} }: FakeMcpMessage,
    session: string,
    headers: IncomingHttpHeaders,
    answer: ServerResponse,
  ): Promise<void> {
    const key = callKey(session, id);
    const call: RunningCall = { abort: new AbortController(), stream: answer, unsent: [] };
    this.calls.set(key, call);
    const send = (message: object): void => {
      const event = `id: ${key}\ndata: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`;
      if (call.stream === null) call.unsent.push(event);
      else call.stream.write(event);
    };
    answer.writeHead(200, { 'content-type': 'text/event-stream' });
    // A client resumes what has begun with an id.
    answer.write(`id: ${key}\nretry: 1\ndata: \n\n`);
    const outcome = await this.run(params, headers, call.abort.signal, { call, send });
    send({ id, ...outcome });
    call.stream?.end();
    if (call.stream !== null) this.calls.delete(key);
  }

  private async run(
    params: Readonly<Record<string, unknown>>,
    headers: IncomingHttpHeaders,
    signal: AbortSignal,
    out: { readonly call: RunningCall; readonly send: (message: object) => void } | null,
  ): Promise<object> {
    const { name, arguments: args = {}, _meta: meta } = params as FakeCallParams;
    const tool = this.tools.find((one) => one.name === name);
    if (tool === undefined) return { error: { code: -32_602, message: `Unknown tool: ${name}` } };
    const { handler = (call) => JSON.stringify(call.args) } = tool;
    const token = meta?.progressToken;
    try {
      const result = await handler({
        args,
        headers,
        signal,
        progress: (progress, total, message) => {
          const told = { progressToken: token, progress, total, message };
          if (token !== undefined) out?.send({ method: 'notifications/progress', params: told });
        },
        drop: () => {
          if (out === null) return;
          out.call.stream?.destroy();
          out.call.stream = null;
        },
      });
      return { result: typeof result === 'string' ? { content: [{ type: 'text', text: result }] } : result };
    } catch (error) {
      return { error: { code: INTERNAL, message: (error as Error).message } };
    }
  }

  private hello({ protocolVersion }: Readonly<Record<string, unknown>>): object {
    const { hello = { capabilities: { tools: { listChanged: true } }, serverInfo: { name: 'fake', version: '1' } } } =
      this.options;
    return { protocolVersion, ...hello };
  }

  private page({ cursor = '0' }: Readonly<Record<string, unknown>>): object {
    const from = Number(cursor);
    const to = from + (this.options.pageSize ?? Infinity);
    const tools = this.tools.slice(from, to).map(({ handler: _, inputSchema = { type: 'object' }, ...tool }) => ({
      ...tool,
      inputSchema,
    }));
    return to < this.tools.length ? { tools, nextCursor: String(to) } : { tools };
  }

  private newSession(stream: ServerResponse | null): string {
    this.lastSession += 1;
    this.sessions.set(String(this.lastSession), stream);
    return String(this.lastSession);
  }

  private wake(): void {
    for (const wake of this.waiting) wake();
    this.waiting.clear();
  }
}

interface FakeCallParams {
  readonly name?: string;
  readonly arguments?: Readonly<Record<string, unknown>>;
  readonly _meta?: { readonly progressToken?: string | number };
}

function callKey(session: string, id: unknown): string {
  return `${session}-${String(id)}`;
}

function sendJson(answer: ServerResponse, body: object): void {
  answer.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function sendEvent(stream: ServerResponse, message: object): void {
  stream.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
}

async function readAll(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
