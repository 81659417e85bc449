import { validateHeaderName, validateHeaderValue } from 'node:http';

import type { IdGenerator } from '../../protocol/index.js';
import type { Clock } from '../../time/index.js';
import { ChatCompletionsProvider, DIALECTS, RESERVED_NAMES } from '../chat-completions/index.js';
import { type ProviderEntry, ProviderKind } from '../provider-kind.js';
import { CAPABILITY_SCHEMAS, type ChatCompletionsEntry } from './chat-completions-entry.js';
import { member, milliseconds, object, text, texts } from './schema-parts.js';
import { toProviderOptions } from './to-provider-options.js';

/** Members that every request needs. */
const VITAL: ReadonlySet<string> = new Set(['model', 'messages', 'stream']);

/** Headers that the HTTP client sets. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  'accept-encoding',
  'connection',
  'content-length',
  'content-type',
  'expect',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** The kind `chat-completions`: servers with OpenAI's Chat Completions API. */
export class ChatCompletionsKind extends ProviderKind {
  override readonly members = {
    base_url: { type: 'string', pattern: '^https?://[^@/?#]+(/[^@]*)?$', description: 'must be an http or https URL' },
    dialect: { enum: DIALECTS },
    api_key: text,
    headers: texts,
    query: texts,
    timeouts: object({ connect_ms: milliseconds, first_byte_ms: milliseconds, idle_ms: milliseconds }),
    connections: { type: 'integer', minimum: 1, maximum: 65_535 },
    forward: { type: 'array', items: member, uniqueItems: true },
    omit: { type: 'array', items: member, uniqueItems: true },
    capabilities: object(CAPABILITY_SCHEMAS),
  };
  override readonly required = ['base_url'];

  constructor(private readonly dependencies: { readonly clock: Clock; readonly ids: IdGenerator }) {
    super();
  }

  override create(name: string, entry: ProviderEntry, secrets: readonly string[]): ChatCompletionsProvider {
    return new ChatCompletionsProvider(
      toProviderOptions(name, entry as ChatCompletionsEntry, secrets),
      this.dependencies,
    );
  }

  override check(entry: ProviderEntry): void {
    const { base_url: url, api_key: key, headers = {}, forward = [], omit = [] } = entry as ChatCompletionsEntry;
    if (!URL.canParse(url)) throw new Error('base_url must be an http or https URL');
    for (const [header, value] of Object.entries(headers)) requireHeader('headers', header, value);
    if (key !== undefined) requireHeader('api_key', 'authorization', `Bearer ${key}`);
    const vital = omit.findIndex((name) => VITAL.has(name));
    if (vital !== -1) throw new Error(`omit[${vital}] must not be a required member (${omit[vital]})`);
    const reserved = forward.findIndex((name) => RESERVED_NAMES.has(name));
    if (reserved !== -1) throw new Error(`forward[${reserved}] is a reserved name (${forward[reserved]})`);
  }

  /** Credentials and addresses of the server. Header values are included with and without a scheme such as `Bearer`. */
  override secretsOf(entry: ProviderEntry): readonly string[] {
    const { base_url: url, api_key: key = '', headers = {}, query = {} } = entry as ChatCompletionsEntry;
    const { host, hostname, searchParams } = new URL(url);
    const values = Object.values(headers).flatMap((value) => [value, ...value.split(' ')]);
    return [key, ...values, ...Object.values(query), ...searchParams.values(), host, hostname];
  }
}

function requireHeader(place: string, name: string, value: string): void {
  try {
    validateHeaderName(name);
  } catch {
    throw new Error(`${place} has an invalid header name`);
  }
  try {
    validateHeaderValue(name, value);
  } catch {
    throw new Error(`${place}${name === 'authorization' ? '' : `.${name}`} is not a valid header value`);
  }
  if (OWN_HEADERS.has(name.toLowerCase())) throw new Error(`${place} must not have ${[...OWN_HEADERS].join(', ')}`);
}
