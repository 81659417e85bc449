import { isObject } from '../../../validation/index.js';
import type { ForeignEvent } from '../../model-event.js';
import type { Answer, Handler } from './answer.js';

const TURN_STATE = 'x-codex-turn-state';

/**
 * Headers in events that are not for our client: Codex warns its user when the model is named otherwise than in the request, and
 * the others are about the request that this service made.
 */
const NOT_FORWARDED: ReadonlySet<string> = new Set(['x-openai-model', 'x-request-id', 'x-should-retry']);

/** Members that number and name things as the upstream does, not as this service. */
const OF_UPSTREAM: ReadonlySet<string> = new Set(['response_id', 'output_index', 'sequence_number', 'stream_id']);

const created: Handler = (answer, { response }) => {
  if (isObject(response) && typeof response.id === 'string') answer.nameResponse(response.id);
};

/** Headers that a socket's server sends after its handshake. They also reach clients over HTTP, if there is no output yet. */
const metadata: Handler = (answer, event) => {
  const headers = headersOf(event);
  const { profile, transport } = answer.options;
  if (transport === 'websocket' && profile.turnStateFrom === 'event') answer.turnState ??= headers[TURN_STATE] ?? null;
  if (!answer.hasOutput && Object.keys(headers).length > 0) answer.note({ type: 'metadata', headers });
  passOn(answer, event);
};

/** Passes on an event for clients on sockets. */
export function passOn(answer: Answer, event: ForeignEvent): void {
  const members = Object.entries(event).filter(([name]) => !OF_UPSTREAM.has(name));
  const passed = { ...Object.fromEntries(members), type: event.type };
  answer.note({ type: 'event', event: 'headers' in passed ? { ...passed, headers: headersOf(event) } : passed });
}

const ignored: Handler = () => undefined;

/** Events beside the output (upstreams §3.2). */
export const BESIDE_OUTPUT: Readonly<Record<string, Handler>> = {
  'response.created': created,
  'response.metadata': metadata,
  'codex.response.metadata': metadata,
  'codex.rate_limits': passOn,
  // They keep the connection alive, and that is done.
  keepalive: ignored,
  ping: ignored,
  // About the connection to the upstream, not about the client's.
  connection_expiring: ignored,
};

/** Events that say nothing that the others do not. */
export const IMPLIED: readonly string[] = [
  'response.queued',
  'response.in_progress',
  'response.content_part.added',
  'response.content_part.done',
  'response.output_text.done',
  'response.refusal.done',
  'response.reasoning_text.done',
  'response.reasoning.done',
  'response.reasoning_summary_part.added',
  'response.reasoning_summary_part.done',
  'response.reasoning_summary_text.done',
  'response.function_call_arguments.done',
  'response.custom_tool_call_input.done',
];

/** The headers in an event that may reach our client, names in lower case. */
function headersOf({ headers }: ForeignEvent): Readonly<Record<string, string>> {
  if (!isObject(headers)) return {};
  const forwarded: Record<string, string> = {};
  for (const [name, values] of Object.entries(headers)) {
    const key = name.toLowerCase();
    const value: unknown = Array.isArray(values) ? values[0] : values;
    if (key.startsWith('x-') && !NOT_FORWARDED.has(key) && typeof value === 'string') forwarded[key] = value;
  }
  return forwarded;
}
