import { objectSchema } from '../../config/index.js';
import { PROFILES, type Profile } from '../responses/profile.js';
import { flag, milliseconds, oneOf } from './schema-parts.js';
import { SERVER_MEMBERS, type ServerEntry } from './server-entry.js';

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
export const RESPONSES_MEMBERS = {
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
