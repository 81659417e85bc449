import type { ChatAnswers } from './chat-answer.js';
import type { Quirks } from './quirks.js';
import { type ListedModel, modelList, refusal, type RefusalForm } from './refusals.js';
import { streamReply, textReply, toReply } from './reply.js';
import {
  type HttpReply,
  PacketGate,
  type UpstreamProtocol,
  type UpstreamRequest,
  UpstreamServer,
} from '../upstream-server.js';

/** How a chat completions request is answered, known once it is there. */
export type Responder = (request: UpstreamRequest) => HttpReply;

/**
 * A chat completions server that answers what a test tells it to, one answer per request, and remembers what it was asked.
 * A request without an answer gets the text `ok`.
 *
 *     await using upstream = await ChatUpstream.start();
 *     upstream.answer({ text: ['Hel', 'lo'] }, { lineEnd: '\r\n', usage: 'cumulative' });
 */
export class ChatUpstream extends UpstreamServer<UpstreamRequest, HttpReply> {
  /** Chat completions requests, oldest first. */
  readonly requests: UpstreamRequest[] = [];
  /** Requests for the list of models. */
  readonly listings: UpstreamRequest[] = [];
  /** Requests for anything else; they are answered with 404. */
  readonly strays: UpstreamRequest[] = [];
  private gate = new PacketGate();
  private listing: HttpReply = modelList([]);
  private root = '';

  /** Starts one on a free port of the loopback interface, in the open or over TLS (with HTTP/2). */
  static start(protocol: UpstreamProtocol = 'http'): Promise<ChatUpstream> {
    return new ChatUpstream(protocol, answering({ text: 'ok' })).listen();
  }

  /** Answers the next request that has no answer yet. */
  answer(answers: ChatAnswers, quirks: Quirks = {}): this {
    return this.respond(answering(answers, quirks));
  }

  /** Refuses the next request that has no answer yet. */
  refuse(status: number, form?: RefusalForm, headers?: Readonly<Record<string, string>>): this {
    return this.respond(refusal(status, form, headers));
  }

  /** Answers the next request with the bytes of a recorded stream. */
  replay(stream: string, quirks: Quirks = {}): this {
    return this.respond(streamReply([stream], quirks));
  }

  /** Answers the next request with a page for people, status 200. */
  answerHtml(): this {
    return this.respond(textReply('<html><body>Sign in</body></html>', 'text/html'));
  }

  /** Takes the next request and never answers, not even with a head. */
  ignore(): this {
    return this.respond('silent');
  }

  /** Answers the next request with a head and no body, and keeps the connection open. */
  answerHeadOnly(): this {
    return this.answer({}, { breaks: { after: 0, by: 'stall' } });
  }

  /** Answers every request for which there is nothing else. */
  always(answers: ChatAnswers, quirks: Quirks = {}): this {
    return this.alwaysRespond(answering(answers, quirks));
  }

  /** Lists these models from now on. */
  list(models: readonly ListedModel[]): this {
    return this.listReply(modelList(models));
  }

  /** Answers requests for the list with a reply of the test's own, such as a refusal. */
  listReply(reply: HttpReply): this {
    this.listing = reply;
    return this;
  }

  /** Serves only what lies below this path, such as `/v1`; anything else is 404. */
  serveBelow(path: string): this {
    this.root = path;
    return this;
  }

  /** Of answers that begin from now on every packet, and the end behind the last one, waits for `release`; lists of models do not. */
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

  protected override async handle(request: UpstreamRequest): Promise<void> {
    const reply = this.reply(request);
    await request.answer(reply, reply === this.listing ? new PacketGate() : this.gate);
  }

  private reply(request: UpstreamRequest): HttpReply {
    const [method, path = ''] = request.route.split(' ');
    const isServed = path.startsWith(`${this.root}/`);
    if (isServed && method === 'GET' && path.endsWith('/models')) {
      this.listings.push(request);
      return this.listing;
    }
    if (!isServed || method !== 'POST' || !path.endsWith('/chat/completions')) {
      this.strays.push(request);
      return refusal(404, 'openai');
    }
    this.requests.push(request);
    this.arrivals.notify();
    return this.replyTo(request);
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
