import type { ProviderSubject } from '../../src/testing/index.js';
import type { ChatAnswer } from '../support/chat-upstream/chat-answer.js';
import { ChatUpstream } from '../support/chat-upstream/chat-upstream.js';
import { textReply, toReply } from '../support/chat-upstream/reply.js';
import type { HttpReply, UpstreamRequest } from '../support/upstream-server.js';
import { ASK_TO_FAIL, ASK_TO_HANG, describeFileSubject, FileSubject } from './file-subject.js';

const KEY = 'sk-of-the-upstream';

/** The chat completions provider, as a file configures it, in front of a fake upstream. */
export class ChatSubject implements AsyncDisposable {
  private constructor(
    private readonly upstream: ChatUpstream,
    private readonly files: FileSubject<UpstreamRequest>,
  ) {}

  static async start(): Promise<ChatSubject> {
    const upstream = await ChatUpstream.start();
    const files = await FileSubject.write<UpstreamRequest>({ base_url: upstream.baseUrl, api_key: KEY });
    const subject = new ChatSubject(upstream, files);
    upstream.respond(subject.respond);
    return subject;
  }

  /** What the contract needs to know of it; `subject` gives the one that runs. */
  static describe(subject: () => ChatSubject): ProviderSubject {
    return describeFileSubject(() => subject().files, KEY);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.upstream.close();
    await this.files[Symbol.asyncDispose]();
  }

  /** Answers each request by what it says, this one and those after it. */
  private readonly respond = (request: UpstreamRequest): HttpReply => {
    this.upstream.respond(this.respond);
    const { model = '', messages = [], tools } = request.body;
    const last = messages.at(-1);
    const content = JSON.stringify(last?.['content']);
    if (content.includes(ASK_TO_FAIL)) return refusalWith(`upstream-model is out for the key ${KEY}`);
    const asked = { model, includeUsage: request.body.stream_options?.include_usage === true };
    if (content.includes(ASK_TO_HANG)) {
      this.files.reached(request);
      return toReply({ text: ['One ', 'two'] }, { breaks: { after: 1, by: 'stall' } }, asked);
    }
    const answer: ChatAnswer =
      tools !== undefined && last?.['role'] === 'user'
        ? { toolCalls: [{ name: 'get_weather', arguments: ['{"city":', '"Paris"}'] }] }
        : { text: ['You said ', ...messages.map((message) => JSON.stringify(message['content']))] };
    return toReply(answer, {}, asked);
  };
}

function refusalWith(message: string): HttpReply {
  return textReply(JSON.stringify({ error: { message, type: 'x', code: 'y' } }), 'application/json', { status: 401 });
}
