import type { IncomingMessage } from 'node:http';

import { News } from '../news.js';
import { ConversationState, UnknownParent } from './conversation-state.js';
import { message, type UpstreamItem, upstreamId } from './items.js';
import { answering, type Delivery, refusing, type Reply, type Responder } from './reply.js';
import type { AnswerOptions } from './to-events.js';
import type { UpstreamCall } from './upstream-call.js';
import { UpstreamConnection } from './upstream-connection.js';
import { type PlainCall, type UpgradeReply, UpstreamListener } from './upstream-listener.js';

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
export class ResponsesUpstream implements AsyncDisposable {
  /** Requests for a response, oldest first. */
  readonly calls: UpstreamCall[] = [];
  /** WebSockets, oldest first. */
  readonly sockets: UpstreamConnection[] = [];
  /** Upgrade requests, refused ones included. */
  readonly upgrades: IncomingMessage[] = [];
  /** Requests for the list of models. */
  readonly listings: IncomingMessage[] = [];
  private readonly stored = new ConversationState();
  private readonly responders: Responder[] = [];
  private readonly upgradeReplies: UpgradeReply[] = [];
  private readonly arrivals = new News();
  private asked = 0;
  private fallback: Responder = answering(() => [message('ok')]);
  private upgradeFallback: UpgradeReply = {};
  private listing: Reply | object = { object: 'list', data: [] };
  private isStoring = false;
  private listener!: UpstreamListener;

  /** Starts one on a free port of the loopback interface, or on a given one. */
  static async start(port = 0): Promise<ResponsesUpstream> {
    const upstream = new ResponsesUpstream();
    upstream.listener = await new UpstreamListener({
      answer: (call) => upstream.take(call, new ConversationState(upstream.stored)),
      answerListing: (request) => upstream.noteListing(request),
      answerUpgrade: (request) => upstream.noteUpgrade(request),
      accept: (socket, request, connection) => {
        const state = new ConversationState(upstream.stored);
        const take = (call: PlainCall): Reply => upstream.take(call, state);
        upstream.sockets.push(new UpstreamConnection(socket, request, connection, state, take));
        upstream.arrivals.tell();
      },
    }).listen(port);
    return upstream;
  }

  get port(): number {
    return this.listener.port;
  }

  /** What a providers file calls `base_url`. */
  get baseUrl(): string {
    return this.listener.baseUrl;
  }

  /** Connections that are open now. */
  get openConnections(): number {
    return this.listener.openConnections;
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

  /** Answers the next requests that have no answer yet with replies of the test's own. */
  respond(...responders: readonly (Responder | Reply)[]): this {
    this.responders.push(...responders.map(toResponder));
    return this;
  }

  /** Answers every request for which there is nothing else. */
  always(responder: Responder | Reply): this {
    this.fallback = toResponder(responder);
    return this;
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

  /** Closes every connection and refuses new ones. */
  close(): Promise<void> {
    return this.listener.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Notes a request and says how it is answered. */
  private take(call: PlainCall, state: ConversationState): Reply {
    const context = contextOf(call, state);
    const whole = { ...call, responseId: upstreamId('resp'), context: context instanceof Error ? [] : context };
    this.calls.push(whole);
    const reply = context instanceof Error ? forgotten(context) : (this.responders.shift() ?? this.fallback)(whole);
    this.arrivals.tell();
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

  private noteListing(request: IncomingMessage): Reply | object {
    this.listings.push(request);
    return this.listing;
  }

  private noteUpgrade(request: IncomingMessage): UpgradeReply {
    this.upgrades.push(request);
    this.arrivals.tell();
    return this.upgradeReplies.shift() ?? this.upgradeFallback;
  }
}

function toResponder(reply: Responder | Reply): Responder {
  return typeof reply === 'function' ? reply : () => reply;
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
