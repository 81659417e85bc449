import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { ProviderSubject } from '../../src/testing/index.js';
import type { ChatAnswer } from '../support/chat-upstream/chat-answer.js';
import { ChatUpstream } from '../support/chat-upstream/chat-upstream.js';
import { type Reply, textReply, toReply } from '../support/chat-upstream/reply.js';
import type { UpstreamRequest } from '../support/chat-upstream/upstream-request.js';

const KEY = 'sk-of-the-upstream';
const ASK_TO_FAIL = 'Fail.';
const ASK_TO_HANG = 'Say nothing more.';

/** The chat completions provider, as a file configures it, in front of a fake upstream. */
export class ChatSubject implements AsyncDisposable {
  private hung = Promise.withResolvers<UpstreamRequest>();

  private constructor(
    private readonly upstream: ChatUpstream,
    private readonly folder: string,
  ) {}

  static async start(): Promise<ChatSubject> {
    const upstream = await ChatUpstream.start();
    const subject = new ChatSubject(upstream, await mkdtemp(join(tmpdir(), 'antiphon-providers-')));
    upstream.respond(subject.respond);
    const providers = { upstream: { base_url: upstream.baseUrl, api_key: KEY } };
    const models = [{ name: 'tested', provider: 'upstream', model: 'upstream-model' }];
    await writeFile(subject.file, JSON.stringify({ providers, models }));
    return subject;
  }

  get file(): string {
    return join(this.folder, 'providers.json');
  }

  /** What the contract needs to know of it; `subject` gives the one that runs. */
  static describe(subject: () => ChatSubject): ProviderSubject {
    return {
      options: () => ({ environment: { PROVIDERS_FILE: subject().file } }),
      model: 'tested',
      deterministic: true,
      hanging: () => subject().hang(),
      failing: { body: { input: ASK_TO_FAIL } },
      secrets: [KEY, 'upstream-model is out'],
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.upstream.close();
    await rm(this.folder, { recursive: true });
  }

  private hang(): ReturnType<NonNullable<ProviderSubject['hanging']>> {
    this.hung = Promise.withResolvers();
    const reached = this.hung.promise;
    return { body: { input: ASK_TO_HANG }, reached, released: reached.then(({ closed }) => closed) };
  }

  /** Answers each request by what it says, this one and those after it. */
  private readonly respond = (request: UpstreamRequest): Reply => {
    this.upstream.respond(this.respond);
    const { model = '', messages = [], tools } = request.body;
    const last = messages.at(-1);
    const content = JSON.stringify(last?.['content']);
    if (content.includes(ASK_TO_FAIL)) return refusalWith(`upstream-model is out for the key ${KEY}`);
    const asked = { model, includeUsage: request.body.stream_options?.include_usage === true };
    if (content.includes(ASK_TO_HANG)) {
      this.hung.resolve(request);
      return toReply({ text: ['One ', 'two'] }, { breaks: { after: 1, by: 'stall' } }, asked);
    }
    const answer: ChatAnswer =
      tools !== undefined && last?.['role'] === 'user'
        ? { toolCalls: [{ name: 'get_weather', arguments: ['{"city":', '"Paris"}'] }] }
        : { text: ['You said ', ...messages.map((message) => JSON.stringify(message['content']))] };
    return toReply(answer, {}, asked);
  };
}

function refusalWith(message: string): Reply {
  return textReply(JSON.stringify({ error: { message, type: 'x', code: 'y' } }), 'application/json', { status: 401 });
}
