import type { ProviderSubject } from '../../src/testing/index.js';
import { functionCall, message } from '../support/responses-upstream/items.js';
import { answering, refusing, type Responder, streaming } from '../support/responses-upstream/reply.js';
import { ResponsesUpstream } from '../support/responses-upstream/responses-upstream.js';
import { itemEvents, toEvents } from '../support/responses-upstream/to-events.js';
import type { UpstreamCall } from '../support/responses-upstream/upstream-connection.js';
import { ASK_TO_FAIL, ASK_TO_HANG, describeFileSubject, FileSubject } from './file-subject.js';

const KEY = 'sk-of-the-responses-upstream';

/** The provider of the kind `responses`, as a file configures it, in front of a fake upstream. */
export class ResponsesSubject implements AsyncDisposable {
  private constructor(
    private readonly upstream: ResponsesUpstream,
    private readonly files: FileSubject<UpstreamCall>,
  ) {}

  static async start(entry: object): Promise<ResponsesSubject> {
    const upstream = await ResponsesUpstream.start();
    const files = await FileSubject.write<UpstreamCall>({
      kind: 'responses',
      base_url: upstream.baseUrl,
      api_key: KEY,
      ...entry,
    });
    const subject = new ResponsesSubject(upstream, files);
    upstream.always(subject.respond);
    return subject;
  }

  /** What the contract needs to know of it; `subject` gives the one that runs. */
  static describe(subject: () => ResponsesSubject): ProviderSubject {
    return describeFileSubject(() => subject().files, KEY);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.upstream.close();
    await this.files[Symbol.asyncDispose]();
  }

  /** Answers each request by what it says. */
  private readonly respond: Responder = (call) => {
    const { context, body } = call;
    const last = context.at(-1) as { readonly role?: string } | undefined;
    const content = JSON.stringify(last);
    if (content.includes(ASK_TO_FAIL)) return refusing(401, { message: `upstream-model is out for the key ${KEY}` });
    if (content.includes(ASK_TO_HANG)) {
      this.files.reached(call);
      const [created] = toEvents(call.responseId, []);
      const begun = itemEvents(message('One two'), 0).slice(0, 3);
      return streaming(created === undefined ? begun : [created, ...begun], { end: 'silence' });
    }
    const asksForCall = body['tools'] !== undefined && last?.role === 'user';
    const item = asksForCall
      ? functionCall('get_weather', { city: 'Paris' })
      : message(`You said ${context.map(said).join('')}`);
    return answering([item])(call);
  };
}

/** What an item says, without ids, which differ between turns that are otherwise the same. */
function said(item: unknown): string {
  const { content, output, arguments: text } = item as Readonly<Record<string, unknown>>;
  return JSON.stringify(content ?? output ?? text);
}
