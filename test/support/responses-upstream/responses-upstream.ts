import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

import { WebSocketServer } from 'ws';

import { type UpstreamRequest, UpstreamServer } from '../upstream-server.js';
import { message, type UpstreamItem, upstreamId } from './items.js';
import {
  answering,
  type Delivery,
  type RefusalReply,
  refuseUpgrade,
  refusing,
  type Reply,
  type Responder,
  toHttpReply,
} from './reply.js';
import type { AnswerOptions } from './to-events.js';
import {
  ConversationState,
  type PlainCall,
  type RequestBody,
  UnknownParent,
  type UpstreamCall,
  UpstreamConnection,
} from './upstream-connection.js';

/** How an upgrade is answered: with a socket that has these headers, with a refusal, or never. */
export type UpgradeReply = Readonly<Record<string, string>> | RefusalReply | 'hang';

/** Events behind which a response can be continued. */
const ENDS: ReadonlySet<string> = new Set(['response.completed', 'response.incomplete', 'response.done']);

/**
 * A server with the Responses API, over SSE and WebSocket, that answers what a test tells it to, one answer per request, and
 * remembers what it was asked. A request without an answer gets the text `ok`. Responses are remembered by the socket that they
 * were answered on, unless it is told to store them.
 *
 *     await using upstream = await ResponsesUpstream.start();
 *     upstream.say(functionCall('get_weather', { city: 'Paris' })).respond(failing({ code: 'rate_limit_exceeded' }));
 */
export class ResponsesUpstream extends UpstreamServer<UpstreamCall, Reply> {
  /** Requests for a response, oldest first. */
  readonly calls: UpstreamCall[] = [];
  /** WebSockets, oldest first. */
  readonly sockets: UpstreamConnection[] = [];
  /** Upgrade requests, refused ones included. */
  readonly upgrades: IncomingMessage[] = [];
  /** Requests for the list of models. */
  readonly listings: UpstreamRequest[] = [];
  private readonly stored = new ConversationState();
  private readonly upgradeReplies: UpgradeReply[] = [];
  private readonly upgradeHeaders = new WeakMap<IncomingMessage, Readonly<Record<string, string>>>();
  private readonly webSockets = new WebSocketServer({ noServer: true, perMessageDeflate: true, maxPayload: 2 ** 26 });
  private asked = 0;
  private upgradeFallback: UpgradeReply = {};
  private listing: Reply | object = { object: 'list', data: [] };
  private isStoring = false;

  private constructor() {
    super(
      'http',
      answering(() => [message('ok')]),
    );
    this.server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) =>
      this.upgrade(request, socket, head),
    );
    this.webSockets.on('headers', (headers: string[], request: IncomingMessage) => {
      const reply = this.upgradeHeaders.get(request) ?? {};
      for (const [name, value] of Object.entries(reply)) headers.push(`${name}: ${value}`);
    });
  }

  /** Starts one on a free port of the loopback interface, or on a given one. */
  static start(port = 0): Promise<ResponsesUpstream> {
    return new ResponsesUpstream().listen(port);
  }

  /** Sockets that are open now. */
  get openSockets(): number {
    return this.sockets.filter(({ isOpen }) => isOpen).length;
  }

  /** Answers the next request that has no answer yet with these items. */
  say(...items: readonly UpstreamItem[]): this {
    return this.respond(answering(items));
  }

  /** As `say`, with more to say about the answer. */
  answer(items: readonly UpstreamItem[], options: AnswerOptions & Delivery): this {
    return this.respond(answering(items, options));
  }

  /** Refuses the next request that has no answer yet: with a status over HTTP, with an error frame on a socket. */
  refuse(...refusal: Parameters<typeof refusing>): this {
    return this.respond(refusing(...refusal));
  }

  /** Answers every request for which there is nothing else. */
  always(responder: Responder | Reply): this {
    return this.alwaysRespond(responder);
  }

  /** Answers the next upgrades so, one each. */
  onUpgrade(...replies: readonly UpgradeReply[]): this {
    this.upgradeReplies.push(...replies);
    return this;
  }

  /** Answers every upgrade so for which there is nothing else. */
  onEveryUpgrade(reply: UpgradeReply): this {
    this.upgradeFallback = reply;
    return this;
  }

  /** Answers requests for the list of models. */
  list(listing: Reply | object): this {
    this.listing = listing;
    return this;
  }

  /** From now on responses are remembered beyond their socket. */
  store(): this {
    this.isStoring = true;
    return this;
  }

  /** Forgets every response. */
  forget(): this {
    this.stored.clear();
    for (const socket of this.sockets) socket.state.clear();
    return this;
  }

  /** The next request that nobody has asked for yet, once it is there. */
  async nextCall(): Promise<UpstreamCall> {
    this.asked += 1;
    return this.received(this.asked);
  }

  /** The request of this number, from 1, once it is there. */
  async received(number: number): Promise<UpstreamCall> {
    return this.arrivals.until(() => this.calls[number - 1]);
  }

  /** The socket of this number, from 1, once it is open. */
  async socket(number = 1): Promise<UpstreamConnection> {
    return this.arrivals.until(() => this.sockets[number - 1]);
  }

  /** The upgrade request of this number, from 1, once it is there. */
  async upgraded(number = 1): Promise<IncomingMessage> {
    return this.arrivals.until(() => this.upgrades[number - 1]);
  }

  /** The last request so far. Throws when there is none. */
  get lastCall(): UpstreamCall {
    const call = this.calls.at(-1);
    if (call === undefined) throw new Error('the upstream was not asked');
    return call;
  }

  protected override async handle(request: UpstreamRequest): Promise<void> {
    await request.answer(toHttpReply(this.httpReply(request)));
  }

  private httpReply(request: UpstreamRequest): Reply {
    const { route, url, headers, bytes, connection, closed } = request;
    if (route === 'POST /v1/responses') {
      const body = request.body as RequestBody;
      const call = { transport: 'sse', url, headers, body, bytes, connection, closed } as const;
      return this.take(call, new ConversationState(this.stored));
    }
    if (route !== 'GET /v1/models') return refusing(404);
    this.listings.push(request);
    const { listing } = this;
    if (listing === 'hang' || 'steps' in listing || 'error' in listing) return listing;
    return { status: 200, error: JSON.stringify(listing), headers: {} };
  }

  /** Notes a request and says how it is answered. */
  private take(call: PlainCall, state: ConversationState): Reply {
    const context = contextOf(call, state);
    const whole = { ...call, responseId: upstreamId('resp'), context: context instanceof Error ? [] : context };
    this.calls.push(whole);
    const reply = context instanceof Error ? forgotten(context) : this.replyTo(whole);
    this.arrivals.notify();
    this.remember(whole, reply, state);
    return reply;
  }

  private remember({ responseId, context }: UpstreamCall, reply: Reply, state: ConversationState): void {
    if (reply === 'hang' || 'status' in reply) return;
    if (!reply.steps.some(({ type = '' }) => ENDS.has(type))) return;
    const output = reply.steps.flatMap((step) => (step.type === 'response.output_item.done' ? [step['item']] : []));
    state.add(responseId, context, output);
    if (this.isStoring) this.stored.add(responseId, context, output);
  }

  private upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    this.upgrades.push(request);
    this.arrivals.notify();
    socket.on('error', () => undefined);
    const reply = this.upgradeReplies.shift() ?? this.upgradeFallback;
    if (reply === 'hang') return;
    if (isRefusal(reply)) {
      refuseUpgrade(socket, reply);
      return;
    }
    this.upgradeHeaders.set(request, reply);
    const connection = this.numberOf(request.socket);
    this.webSockets.handleUpgrade(request, socket, head, (webSocket) => {
      const state = new ConversationState(this.stored);
      const take = (call: PlainCall): Reply => this.take(call, state);
      this.sockets.push(new UpstreamConnection(webSocket, request, connection, state, take));
      this.arrivals.notify();
    });
  }
}

function isRefusal(reply: Exclude<UpgradeReply, 'hang'>): reply is RefusalReply {
  return typeof reply['status'] === 'number';
}

function contextOf({ body }: PlainCall, state: ConversationState): readonly unknown[] | UnknownParent {
  try {
    return state.contextOf(body);
  } catch (error) {
    if (error instanceof UnknownParent) return error;
    throw error;
  }
}

function forgotten({ message }: UnknownParent): Reply {
  return refusing(400, { type: 'invalid_request_error', code: 'previous_response_not_found', message });
}
