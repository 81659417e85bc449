import { SHORTEST_SECRET } from '../redact.js';
import type { ResponsesOptions, WebsocketOptions } from '../responses/options.js';
import { type Profile, PROFILES } from '../responses/profile.js';
import { RESERVED_MEMBERS, VITAL_MEMBERS } from '../responses/request/member-names.js';
import type { ResponsesEntry } from './responses-entry.js';
import { checkServer, secretsOfServer, toAddress, toEmbeddingOptions } from './server-entry.js';

const FIXTURE = 'fixture:';

/** Stands for the server that a fixture replaces; nothing is sent there. */
const NO_SERVER = 'http://fixture.invalid';

const DEFAULT_CONNECT_MS = 10_000;
const DEFAULT_IDLE_MS = 300_000;
const DEFAULT_PROFILE = 'codex-2026-11';

/** The options of a ResponsesProvider, for programs. Throws an Error whose message names the member that is invalid. */
export function responsesOptions(name: string, entry: ResponsesEntry): ResponsesOptions {
  checkResponsesEntry(entry);
  const secrets = secretsOfResponsesEntry(entry).filter(({ length }) => length >= SHORTEST_SECRET);
  return toResponsesOptions(name, entry, { secrets, fixture: null });
}

/** Checks what no schema can. Throws an Error whose message begins with the member. */
export function checkResponsesEntry(entry: ResponsesEntry): void {
  checkServer(withServer(entry), { vital: VITAL_MEMBERS, reserved: RESERVED_MEMBERS });
}

/** Values of an entry to redact. */
export function secretsOfResponsesEntry(entry: ResponsesEntry): readonly string[] {
  return secretsOfServer(withServer(entry));
}

/**
 * Translates an entry of the file, with defaults. `secrets` are redacted from errors and logs; `fixture`, if not null, answers in
 * place of the server.
 */
export function toResponsesOptions(
  name: string,
  entry: ResponsesEntry,
  { secrets, fixture }: Pick<ResponsesOptions, 'secrets' | 'fixture'>,
): ResponsesOptions {
  const { base_url: url, timeouts = {}, stream_idle_timeout_ms: idleMs = DEFAULT_IDLE_MS } = entry;
  const profile = PROFILES[entry.profile ?? DEFAULT_PROFILE];
  return {
    name,
    address: toAddress(withServer(entry), {
      connectMs: timeouts.connect_ms ?? DEFAULT_CONNECT_MS,
      firstByteMs: timeouts.first_byte_ms ?? idleMs,
      idleMs,
    }),
    fixture: fixture ?? (url.startsWith(FIXTURE) ? url.slice(FIXTURE.length) : null),
    profile,
    websockets: toWebsockets(entry, profile),
    compressesRequests: entry.features?.enable_request_compression ?? false,
    storesUpstream: entry.passthrough === 'store',
    compactsUpstream: entry.compaction === 'upstream',
    retries: {
      requestMaxRetries: entry.request_max_retries ?? 4,
      streamMaxRetries: entry.stream_max_retries ?? 5,
      budgetMs: entry.retry_budget_ms ?? 60_000,
    },
    discover: entry.discover ?? true,
    ...toEmbeddingOptions(entry),
    forward: entry.forward ?? [],
    omit: new Set(entry.omit),
    secrets,
  };
}

/** Null if the entry does not say that the server takes WebSockets, or if its profile gates them and the feature is off. */
function toWebsockets(entry: ResponsesEntry, { gatesWebsockets }: Profile): WebsocketOptions | null {
  const isEnabled = !gatesWebsockets || entry.features?.responses_websockets === true;
  if (entry.supports_websockets !== true || !isEnabled) return null;
  const { websocket_heal_after_ms: healAfterMs = 0 } = entry;
  return {
    connectTimeoutMs: entry.websocket_connect_timeout_ms ?? 15_000,
    connections: entry.websocket_connections ?? 64,
    idleMs: entry.websocket_idle_timeout_ms ?? 300_000,
    maxAgeMs: entry.websocket_max_age_ms ?? 3_300_000,
    healAfterMs: healAfterMs === 0 ? null : healAfterMs,
    compresses: entry.websocket_compression ?? false,
  };
}

function withServer(entry: ResponsesEntry): ResponsesEntry {
  return entry.base_url.startsWith(FIXTURE) ? { ...entry, base_url: NO_SERVER } : entry;
}
