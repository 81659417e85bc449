import { access, constants } from 'node:fs/promises';

import { Logger } from '@nestjs/common';

import { objectSchema } from '../../config/index.js';
import type { ModelProviderBase } from '../model-provider.js';
import { type ProviderEntry, ProviderKind } from '../provider-kind.js';
import { SHORTEST_SECRET } from '../redact.js';
import type { ResponsesDependencies } from '../responses/index.js';
import type { ResponsesOptions, WebsocketOptions } from '../responses/options.js';
import { type Profile, PROFILES } from '../responses/profile.js';
import { RESERVED_MEMBERS, VITAL_MEMBERS } from '../responses/request/member-names.js';
import { flag, milliseconds, oneOf } from './schema-parts.js';
import {
  checkServer,
  secretsOfServer,
  SERVER_MEMBERS,
  type ServerEntry,
  toAddress,
  toEmbeddingOptions,
} from './server-entry.js';

/** An entry of PROVIDERS_FILE for a server with the Responses API (docs/upstreams.md). */
export interface ResponsesEntry extends ServerEntry {
  readonly timeouts?: { readonly connect_ms?: number; readonly first_byte_ms?: number };
  readonly profile?: Profile['name'];
  readonly supports_websockets?: boolean;
  readonly request_max_retries?: number;
  readonly stream_max_retries?: number;
  readonly stream_idle_timeout_ms?: number;
  readonly retry_budget_ms?: number;
  readonly websocket_connect_timeout_ms?: number;
  readonly websocket_connections?: number;
  readonly websocket_idle_timeout_ms?: number;
  readonly websocket_max_age_ms?: number;
  /** 0: never. */
  readonly websocket_heal_after_ms?: number;
  readonly websocket_compression?: boolean;
  readonly features?: { readonly responses_websockets?: boolean; readonly enable_request_compression?: boolean };
  readonly passthrough?: 'none' | 'store';
  readonly compaction?: 'service' | 'upstream';
}

/** Most retries of each sort. */
const MOST_RETRIES = 100;

/** Servers close sockets after 60 minutes. */
const LONGEST_AGE_MS = 3_599_999;

const retries = { type: 'integer', minimum: 0, maximum: MOST_RETRIES };

/** The JSON Schemas of its members. */
const RESPONSES_MEMBERS = {
  ...SERVER_MEMBERS,
  base_url: {
    type: 'string',
    pattern: '^(https?://[^@/?#]+(/[^@]*)?|fixture:.+)$',
    description: 'must be an http or https URL, or fixture: and the path of a file',
  },
  timeouts: objectSchema({ connect_ms: milliseconds, first_byte_ms: milliseconds }),
  profile: oneOf(...Object.keys(PROFILES)),
  supports_websockets: flag,
  request_max_retries: retries,
  stream_max_retries: retries,
  stream_idle_timeout_ms: milliseconds,
  retry_budget_ms: milliseconds,
  websocket_connect_timeout_ms: milliseconds,
  websocket_connections: { type: 'integer', minimum: 1, maximum: 65_535 },
  websocket_idle_timeout_ms: milliseconds,
  websocket_max_age_ms: { ...milliseconds, maximum: LONGEST_AGE_MS },
  websocket_heal_after_ms: { ...milliseconds, minimum: 0 },
  websocket_compression: flag,
  features: objectSchema({ responses_websockets: flag, enable_request_compression: flag }),
  passthrough: oneOf('none', 'store'),
  compaction: oneOf('service', 'upstream'),
};

const FIXTURE = 'fixture:';

/** Stands for the server that a fixture replaces; nothing is sent there. */
const NO_SERVER = 'http://fixture.invalid';

const DEFAULT_CONNECT_MS = 10_000;
const DEFAULT_IDLE_MS = 300_000;
const DEFAULT_PROFILE = 'codex-2026-11';

/** The kind `responses`: servers with the Responses API, over SSE and WebSocket. */
export class ResponsesKind extends ProviderKind {
  override readonly members = RESPONSES_MEMBERS;
  override readonly required = ['base_url'];
  /** The provider retries itself. */
  override readonly retries = 0;
  private readonly logger = new Logger('ResponsesProvider');

  /** `fixture`: the path of a file that answers in place of every server; null for none. */
  constructor(
    private readonly dependencies: ResponsesDependencies,
    private readonly fixture: string | null,
  ) {
    super();
  }

  override async create(name: string, entry: ProviderEntry, secrets: readonly string[]): Promise<ModelProviderBase> {
    // Loaded for files that have such an entry only.
    const { ResponsesProvider } = await import('../responses/index.js');
    const options = toResponsesOptions(name, entry as ResponsesEntry, { secrets, fixture: this.fixture });
    if (options.fixture !== null) await this.useFixture(name, options.fixture);
    return new ResponsesProvider(options, this.dependencies);
  }

  /** Throws an Error if the fixture cannot be read. */
  private async useFixture(name: string, path: string): Promise<void> {
    const source = this.fixture === null ? 'base_url' : 'CODEX_RS_SSE_FIXTURE';
    try {
      await access(path, constants.R_OK);
    } catch {
      throw new Error(`the fixture of ${source} cannot be read`);
    }
    this.logger.warn(`'${name}' answers from the fixture of ${source}, not from a server`);
  }

  override check(entry: ProviderEntry): void {
    checkResponsesEntry(entry as ResponsesEntry);
  }

  override secretsOf(entry: ProviderEntry): readonly string[] {
    return secretsOfResponsesEntry(entry as ResponsesEntry);
  }
}

/** The options of a ResponsesProvider, for programs. Throws an Error whose message names the member that is invalid. */
export function responsesOptions(name: string, entry: ResponsesEntry): ResponsesOptions {
  checkResponsesEntry(entry);
  const secrets = secretsOfResponsesEntry(entry).filter(({ length }) => length >= SHORTEST_SECRET);
  return toResponsesOptions(name, entry, { secrets, fixture: null });
}

/** Checks what no schema can. Throws an Error whose message begins with the member. */
function checkResponsesEntry(entry: ResponsesEntry): void {
  checkServer(withServer(entry), { vital: VITAL_MEMBERS, reserved: RESERVED_MEMBERS });
}

/** Values of an entry to redact. */
function secretsOfResponsesEntry(entry: ResponsesEntry): readonly string[] {
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
