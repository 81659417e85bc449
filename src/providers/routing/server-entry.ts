import { validateHeaderName, validateHeaderValue } from 'node:http';

import { objectSchema } from '../../config/index.js';
import { MOST_EMBEDDING_INPUTS } from '../embedding.js';
import type { ProviderEntry } from '../provider-kind.js';
import type { UpstreamAddress } from '../upstream-http/upstream-client.js';
import { member, text, texts } from './schema-parts.js';

/** What an entry of PROVIDERS_FILE says of any HTTP server. */
export interface ServerEntry extends ProviderEntry {
  readonly base_url: string;
  readonly api_key?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly connections?: number;
  readonly omit?: readonly string[];
}

/** The JSON Schemas of its members. */
export const SERVER_MEMBERS = {
  base_url: { type: 'string', pattern: '^https?://[^@/?#]+(/[^@]*)?$', description: 'must be an http or https URL' },
  api_key: text,
  headers: texts,
  query: texts,
  connections: { type: 'integer', minimum: 1, maximum: 65_535 },
  forward: { type: 'array', items: member, uniqueItems: true },
  omit: { type: 'array', items: member, uniqueItems: true },
  embeddings: objectSchema({
    models: { type: 'array', items: text, minItems: 1, uniqueItems: true },
    batch: { type: 'integer', minimum: 1, maximum: MOST_EMBEDDING_INPUTS },
  }),
};

const DEFAULT_CONNECTIONS = 1024;

/** Headers that the HTTP client sets. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  ...['accept-encoding', 'connection', 'content-length', 'content-type', 'expect', 'keep-alive', 'te', 'trailer'],
  ...['transfer-encoding', 'upgrade'],
]);

/** Request members that an entry cannot name. */
export interface MemberNames {
  /** Members that every request needs. */
  readonly vital: ReadonlySet<string>;
  /** Members that cannot be forwarded. */
  readonly reserved: ReadonlySet<string>;
}

/** Checks what no schema can. Throws an Error whose message begins with the member. */
export function checkServer(entry: ServerEntry, { vital, reserved }: MemberNames): void {
  const { base_url: url, api_key: key, headers = {}, forward = [], omit = [] } = entry;
  if (!URL.canParse(url)) throw new Error('base_url must be an http or https URL');
  for (const [header, value] of Object.entries(headers)) requireHeader('headers', header, value);
  if (key !== undefined) requireHeader('api_key', 'authorization', `Bearer ${key}`);
  const omitted = omit.findIndex((name) => vital.has(name));
  if (omitted !== -1) throw new Error(`omit[${omitted}] must not be a required member (${omit[omitted]})`);
  const forwarded = forward.findIndex((name) => reserved.has(name));
  if (forwarded !== -1) throw new Error(`forward[${forwarded}] is a reserved name (${forward[forwarded]})`);
}

/** Credentials and addresses of the server. Header values are included with and without a scheme such as `Bearer`. */
export function secretsOfServer(entry: ServerEntry): readonly string[] {
  const { base_url: url, api_key: key = '', headers = {}, query = {} } = entry;
  const { host, hostname, searchParams } = new URL(url);
  const values = Object.values(headers).flatMap((value) => [value, ...value.split(' ')]);
  return [key, ...values, ...Object.values(query), ...searchParams.values(), host, hostname];
}

/** Where requests go, with `timeouts` after defaults. */
export function toAddress(entry: ServerEntry, timeouts: UpstreamAddress['timeouts']): UpstreamAddress {
  const { base_url: url, api_key: key, headers = {}, query = {}, connections = DEFAULT_CONNECTIONS } = entry;
  const authorization: Readonly<Record<string, string>> = key === undefined ? {} : { authorization: `Bearer ${key}` };
  return {
    baseUrl: url.replace(/\/+$/, ''),
    headers: { ...authorization, ...lowerCased(headers) },
    query,
    timeouts,
    connections,
  };
}

/** What an entry says of embeddings, as options of its provider. */
export function toEmbeddingOptions({ embeddings }: ProviderEntry): { readonly embeddingBatch?: number } {
  return embeddings?.batch === undefined ? {} : { embeddingBatch: embeddings.batch };
}

function lowerCased(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
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
