import type { Clock } from '../../time/index.js';
import { isObject, objectsIn } from '../../validation/index.js';
import { CountRoute } from '../upstream-http/count-route.js';
import type { UpstreamClient } from '../upstream-http/upstream-client.js';
import type { Capabilities } from './capabilities.js';

type Members = Readonly<Record<string, unknown>>;

/** How a server is asked to count the prompt of a chat request. */
interface Kind {
  readonly path: (baseUrl: string) => string;
  /** What to post instead of a chat request; null for a request that the server counts wrongly. */
  readonly toBody: (chat: Members) => Members | null;
}

/** Paths that end with a version. */
const VERSIONED = /\/v\d+\w*\/*$/;

/** Members of a chat request that reach the chat template of vLLM, or its tokenizer. */
const TOKENIZED = [
  'model',
  'messages',
  'tools',
  'add_special_tokens',
  'chat_template',
  'chat_template_kwargs',
  'mm_processor_kwargs',
];

const KINDS: Readonly<Record<Exclude<Capabilities['tokenCount'], 'none'>, Kind>> = {
  input_tokens: {
    path: () => '/chat/completions/input_tokens',
    toBody: ({ stream: _stream, stream_options: _options, ...chat }) => chat,
  },
  tokenize: {
    path: (baseUrl) => (VERSIONED.test(new URL(baseUrl).pathname) ? '/../tokenize' : '/tokenize'),
    toBody: toTokenizeBody,
  },
};

/** The route by which a server counts the tokens of chat requests with its own template and tokenizer. */
export class TokenRoute {
  private constructor(
    private readonly route: CountRoute,
    private readonly kind: Kind,
  ) {}

  /** Null for servers that do not count. */
  static of(
    kind: Capabilities['tokenCount'],
    client: UpstreamClient,
    clock: Clock,
    baseUrl: string,
  ): TokenRoute | null {
    if (kind === 'none') return null;
    return new TokenRoute(new CountRoute(client, clock, KINDS[kind].path(baseUrl)), KINDS[kind]);
  }

  /** Asks for the prompt tokens of a chat request. Null when the server does not count it. Rejects as CountRoute does. */
  async ask(chat: Members, signal: AbortSignal | undefined): Promise<number | null> {
    const body = this.kind.toBody(chat);
    return body === null ? null : this.route.ask(JSON.stringify(body), signal);
  }
}

/** The request of vLLM's `/tokenize`. An image or a sound would count as the mark of its place only. */
function toTokenizeBody(chat: Members): Members | null {
  if (holdsMedia(chat.messages)) return null;
  const body = Object.fromEntries(TOKENIZED.flatMap((name) => (chat[name] === undefined ? [] : [[name, chat[name]]])));
  const { reasoning_effort: effort } = chat;
  if (effort === undefined) return body;
  // In a chat request vLLM itself hands it to the template.
  const { chat_template_kwargs: own } = body;
  return { ...body, chat_template_kwargs: { ...(isObject(own) ? own : {}), reasoning_effort: effort } };
}

function holdsMedia(messages: unknown): boolean {
  return objectsIn(messages).some(({ content }) => objectsIn(content).some(({ type }) => type !== 'text'));
}
