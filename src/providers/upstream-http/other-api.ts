import { isObject } from '../../validation/index.js';

type Members = Readonly<Record<string, unknown>>;

/** The kinds of providers, each of which speaks one API. */
type Spoken = 'chat' | 'responses';

/** An API that a server speaks in place of the one that its entry says. */
interface OtherApi {
  readonly name: string;
  readonly isIn: (body: Members) => boolean;
  /** The kind of provider that speaks it; absent for none. */
  readonly spokenBy?: Spoken;
  /** How `base_url` of its vendor's Chat Completions ends. */
  readonly end?: string;
}

const APIS: readonly OtherApi[] = [
  {
    name: 'Chat Completions',
    isIn: ({ object, choices }) => Array.isArray(choices) || /^chat\.completion/.test(String(object)),
    spokenBy: 'chat',
  },
  {
    name: 'the Responses API',
    isIn: ({ object, type }) => object === 'response' || /^response\./.test(String(type)),
    spokenBy: 'responses',
  },
  {
    name: "Gemini's own API",
    isIn: ({ candidates, promptFeedback }) => Array.isArray(candidates) || isObject(promptFeedback),
    end: '/v1beta/openai',
  },
  {
    name: "Anthropic's Messages API",
    isIn: ({ type, role, content, message }) =>
      (type === 'message' && role === 'assistant' && Array.isArray(content)) ||
      (type === 'message_start' && isObject(message)) ||
      /^(?:content_block_(?:start|delta|stop)|message_(?:delta|stop))$/.test(String(type)),
    end: '/v1',
  },
  {
    name: "Ollama's own API",
    isIn: ({ done, message, response }) =>
      typeof done === 'boolean' && (isObject(message) || typeof response === 'string'),
    end: '/v1',
  },
];

/**
 * The name of the API that a body or an event of an answer is of, if it is not the one of the provider's kind, with the setting that
 * helps; undefined if it is of none that is known. Of a list the first element counts.
 */
export function otherApiIn(body: unknown, kind: Spoken): string | undefined {
  const first: unknown = Array.isArray(body) ? body[0] : body;
  const api = isObject(first) ? APIS.find(({ isIn }) => isIn(first)) : undefined;
  return api === undefined || api.spokenBy === kind ? undefined : `${api.name} (${remedyOf(api, kind)})`;
}

function remedyOf({ spokenBy, end = '' }: OtherApi, kind: Spoken): string {
  if (spokenBy === 'responses') return 'its entry needs `kind: responses`';
  const other = kind === 'responses' ? 'its entry must not have `kind: responses`' : '';
  const address =
    spokenBy === undefined ? `\`base_url\` must be that of its Chat Completions, which ends with ${end}` : '';
  return [other, address].filter((text) => text !== '').join('; ');
}
