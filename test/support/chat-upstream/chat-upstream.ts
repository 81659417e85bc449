import { News } from '../news.js';
import type { ChatAnswers } from './chat-answer.js';
import { type Exchange, PacketGate } from './exchange.js';
import { type ListedModel, modelList } from './model-list.js';
import type { Quirks } from './quirks.js';
import { refusal, type RefusalForm } from './refusals.js';
import { type Reply, streamReply, textReply, toReply } from './reply.js';
import { UpstreamServer, type UpstreamProtocol } from './upstream-server.js';
import type { UpstreamRequest } from './upstream-request.js';

/** How a chat completions request is answered, known once it is there. */
export type Responder = (request: UpstreamRequest) => Reply;

/**
 * A chat completions server that answers what a test tells it to, one answer per request, and remembers what it was asked.
 * A request without an answer gets the text `ok`.
 *
 *     await using upstream = await ChatUpstream.start();
 *     upstream.answer({ text: ['Hel', 'lo'] }, { lineEnd: '\r\n', usage: 'cumulative' });
 */
export class ChatUpstream implements AsyncDisposable {
  /** Chat completions requests, oldest first. */
  readonly requests: UpstreamRequest[] = [];
  /** Requests for the list of models. */
  readonly listings: UpstreamRequest[] = [];
  /** Requests for anything else; they are answered with 404. */
  readonly strays: UpstreamRequest[] = [];
  private readonly responders: Responder[] = [];
  private gate = new PacketGate();
  private readonly arrivals = new News();
  private fallback: Responder = answering({ text: 'ok' }, {});
  private listing: Reply = modelList([]);
  private root = '';

  private constructor(private server: UpstreamServer) {}

  /** Starts one on a free port of the loopback interface, in the open or over TLS (with HTTP/2). */
  static async start(protocol: UpstreamProtocol = 'http'): Promise<ChatUpstream> {
    const exchanges: { handle: (exchange: Exchange) => void } = { handle: () => undefined };
    const upstream = new ChatUpstream(await UpstreamServer.start(protocol, (exchange) => exchanges.handle(exchange)));
    exchanges.handle = (exchange) => void upstream.handle(exchange);
    return upstream;
  }

  get port(): number {
    return this.server.port;
  }

  /** What a providers file calls `base_url`. */
  get baseUrl(): string {
    return this.server.baseUrl;
  }

  /** Connections opened to it so far. */
  get connections(): number {
    return this.server.connections;
  }

  /** Connections that are open now. */
  get openConnections(): number {
    return this.server.openConnections;
  }

  /** Answers the next request that has no answer yet. */
  answer(answers: ChatAnswers, quirks: Quirks = {}): this {
    return this.respond(answering(answers, quirks));
  }

  /** Refuses the next request that has no answer yet. */
  refuse(status: number, form?: RefusalForm, headers?: Readonly<Record<string, string>>): this {
    return this.reply(refusal(status, form, headers));
  }

  /** Answers the next request with the bytes of a recorded stream. */
  replay(stream: string, quirks: Quirks = {}): this {
    return this.reply(streamReply([stream], quirks));
  }

  /** Answers the next request with a page for people, status 200. */
  answerHtml(): this {
    return this.reply(textReply('<html><body>Sign in</body></html>', 'text/html'));
  }

  /** Takes the next request and never answers, not even with a head. */
  ignore(): this {
    return this.reply('silent');
  }

  /** Answers the next request with a head and no body, and keeps the connection open. */
  answerHeadOnly(): this {
    return this.answer({}, { breaks: { after: 0, by: 'stall' } });
  }

  /** Answers the next request that has no answer yet with a reply of the test's own. */
  reply(reply: Reply): this {
    return this.respond(() => reply);
  }

  /** As `reply`, of what the request says. */
  respond(responder: Responder): this {
    this.responders.push(responder);
    return this;
  }

  /** Answers every request for which there is nothing else. */
  always(answers: ChatAnswers, quirks: Quirks = {}): this {
    this.fallback = answering(answers, quirks);
    return this;
  }

  /** As `always`, with a reply of the test's own. */
  alwaysReply(reply: Reply): this {
    return this.alwaysRespond(() => reply);
  }

  /** As `alwaysReply`, of what the request says. */
  alwaysRespond(responder: Responder): this {
    this.fallback = responder;
    return this;
  }

  /** Lists these models from now on. */
  list(models: readonly ListedModel[]): this {
    return this.listReply(modelList(models));
  }

  /** Answers requests for the list with a reply of the test's own, such as a refusal. */
  listReply(reply: Reply): this {
    this.listing = reply;
    return this;
  }

  /** Serves only what lies below this path, such as `/v1`; anything else is 404. */
  serveBelow(path: string): this {
    this.root = path;
    return this;
  }

  /** Of answers that begin from now on every packet, and the end behind the last one, waits for `release`. */
  hold(): this {
    this.gate = new PacketGate(0);
    return this;
  }

  /** Lets so many packets of the answers held last go, or all from now on. */
  release(packets = Infinity): this {
    this.gate.open(packets);
    return this;
  }

  /** The chat completions request of this number, from 1, once it is there and its body read. */
  received(number = 1): Promise<UpstreamRequest> {
    return this.arrivals.until(() => this.requests[number - 1]);
  }

  /** Closes every connection that is open, and takes new ones. */
  dropConnections(): void {
    this.server.dropConnections();
  }

  /** Closes every connection and refuses new ones. */
  close(): Promise<void> {
    return this.server.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  private async handle(exchange: Exchange): Promise<void> {
    try {
      await exchange.read();
      await exchange.answer(this.replyTo(exchange), this.gate);
    } catch {
      // The client went away while it was still asking.
      exchange.reset();
    }
  }

  private replyTo(request: UpstreamRequest): Reply {
    const { pathname } = new URL(request.url, 'http://upstream');
    const isServed = pathname.startsWith(`${this.root}/`);
    if (isServed && request.method === 'GET' && pathname.endsWith('/models')) {
      this.listings.push(request);
      return this.listing;
    }
    if (!isServed || request.method !== 'POST' || !pathname.endsWith('/chat/completions')) {
      this.strays.push(request);
      return refusal(404, 'openai');
    }
    this.requests.push(request);
    const responder = this.responders.shift() ?? this.fallback;
    this.arrivals.tell();
    return responder(request);
  }
}

/** Answers with the form that the request asks for. */
export function answering(answers: ChatAnswers, quirks: Quirks = {}): Responder {
  return ({ body }) =>
    toReply(answers, quirks, {
      model: body.model ?? 'unnamed',
      includeUsage: body.stream_options?.include_usage === true,
      stream: body.stream,
    });
}
