import { RATE_LIMITS_EVENT } from '../../../protocol/index.js';
import { isObject } from '../../../validation/index.js';
import type { ForeignEvent } from '../../model-event.js';
import type { UpstreamHeaders } from '../transport/exchange.js';
import { redactDeeply } from '../../redact.js';
import { readTurnState, TURN_STATE } from '../turn-state.js';
import type { ResponsesAnswer, Handler } from './answer.js';
import { readHeaderEvents, toMetadata } from './header-events.js';

/**
 * Members that number and name things as the upstream does, not as this service; and headers, of which those for our client are
 * metadata.
 */
const OF_UPSTREAM: ReadonlySet<string> = new Set([
  'headers',
  'output_index',
  'response_id',
  'sequence_number',
  'stream_id',
]);

const created: Handler = (answer, { response }) => {
  if (isObject(response) && typeof response.id === 'string') answer.nameResponse(response.id);
};

/**
 * Headers that a server sends after those of its answer. They reach clients over HTTP if there is no output yet; on sockets, this service
 * makes an event of its own of them. What else the event says is passed on.
 */
const metadata: Handler = (answer, event) => {
  const headers = headersOf(event);
  const { secrets } = answer.options;
  const known = toMetadata(readHeaderEvents(headers), secrets).headers;
  const turnState = answer.takeTurnState(readTurnState(headers[TURN_STATE], secrets));
  const forClient = turnState === null ? known : { ...known, [TURN_STATE]: turnState };
  if (forClient !== undefined && Object.keys(forClient).length > 0)
    answer.note({ type: 'metadata', headers: forClient });
  if (Object.keys(event).some((name) => name !== 'type' && !OF_UPSTREAM.has(name))) tell(answer, event);
};

/** Passes on an event for clients on sockets. */
export function passOn(answer: ResponsesAnswer, event: ForeignEvent): void {
  const members = Object.entries(event).filter(([name]) => !OF_UPSTREAM.has(name));
  answer.note({ type: 'event', event: { ...Object.fromEntries(members), type: event.type } });
}

/** Passes on what a server tells of itself. It has no output, and may quote what the server was sent. */
const tell: Handler = (answer, event) => {
  passOn(answer, { ...(redactDeeply(event, answer.options.secrets) as object), type: event.type });
};

const ignored: Handler = () => undefined;

/** Events beside the output (upstreams §3.2). */
export const BESIDE_OUTPUT: Readonly<Record<string, Handler>> = {
  'response.created': created,
  'response.metadata': metadata,
  'codex.response.metadata': metadata,
  [RATE_LIMITS_EVENT]: tell,
  // Signs of life: to arrive is all that they are for.
  keepalive: ignored,
  ping: ignored,
  // About the connection to the upstream, not about the client's.
  connection_expiring: ignored,
};

/** Events that say nothing that the others do not. */
export const IMPLIED: readonly string[] = ['response.queued', 'response.in_progress'];

/** The headers in an event, names in lower case. */
function headersOf({ headers }: ForeignEvent): UpstreamHeaders {
  if (!isObject(headers)) return {};
  const first = (values: unknown): unknown => (Array.isArray(values) ? values[0] : values);
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, values]) => {
      const value = first(values);
      return typeof value === 'string' ? [[name.toLowerCase(), value]] : [];
    }),
  );
}
