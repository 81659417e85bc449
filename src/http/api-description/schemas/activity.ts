import type { JsonSchema } from '../../../validation/index.js';
import { FLAG, INTEGER, listOf, nullable, object, oneOf, pageOf, ref, SECONDS, TEXT } from './shape.js';

/** What running and ended turns have in common. */
const ABOUT_TURN = {
  model: TEXT,
  provider: nullable(TEXT),
  door: oneOf('responses', 'messages', 'chat'),
  transport: oneOf('json', 'sse', 'websocket'),
  background: FLAG,
};

/** What answers say of what happens: sockets, running turns, limits, how turns have run, and what waits. */
export const ACTIVITY_SCHEMAS = {
  Connection: object({
    id: TEXT,
    object: oneOf('connection'),
    since: SECONDS,
    lanes: listOf(object({ stream_id: nullable(TEXT), in_flight: INTEGER, queued: INTEGER })),
    in_flight: INTEGER,
    queued: INTEGER,
  }),
  ConnectionList: pageOf('Connection'),
  RunningTurn: object({
    id: TEXT,
    object: oneOf('running_turn'),
    ...ABOUT_TURN,
    started_at: nullable(SECONDS),
  }),
  Limit: object({
    object: oneOf('limit'),
    name: oneOf('requests_per_minute', 'tokens_per_minute', 'concurrent_turns', 'sockets', 'searches_per_minute'),
    model: { ...nullable(TEXT), description: 'The models that it is for, as its rule names them; null for all.' },
    limit: INTEGER,
    used: INTEGER,
    resets_at: nullable(SECONDS),
  }),
  Activity: object(
    {
      object: oneOf('activity'),
      processes: object({ answered: INTEGER, silent: INTEGER }),
      turns: listOf(ref('RunningTurn')),
      limits: listOf(ref('Limit')),
    },
    { totals: object({ turns: INTEGER, background_turns: INTEGER, connections: INTEGER }) },
  ),
  Turn: object({
    object: oneOf('turn'),
    response_id: TEXT,
    status: oneOf(...['in_progress', 'completed', 'incomplete', 'failed', 'cancelled', 'refused', 'disconnected']),
    error_code: nullable(TEXT),
    ...ABOUT_TURN,
    request_id: { ...TEXT, description: 'As log lines of the service have it.' },
    trace_id: nullable(TEXT),
    started_at: nullable(SECONDS),
    first_event_ms: nullable(INTEGER),
    duration_ms: INTEGER,
    attempts: listOf(
      object({
        number: { ...INTEGER, description: 'From 1. Of more than 100, the latest are listed.' },
        provider: TEXT,
        model: { ...TEXT, description: 'The name of the model at the upstream.' },
        kind: oneOf('first', 'retry', 'fallback'),
        started_ms: { ...INTEGER, description: 'From the beginning of the turn.' },
        duration_ms: INTEGER,
        first_output_ms: nullable(INTEGER),
        error_code: nullable(TEXT),
      }),
    ),
    tool_calls: listOf(
      object({
        id: TEXT,
        name: TEXT,
        server: nullable(TEXT),
        started_ms: INTEGER,
        duration_ms: INTEGER,
        error_type: nullable(TEXT),
      }),
    ),
    usage: nullable(ref('Usage')),
    cost: {
      ...nullable({ type: 'number' }),
      description:
        'By the `prices` of PROVIDERS_FILE; null where they are not known of all upstreams that have answered.',
    },
  }),
  Approval: object({
    id: { ...TEXT, description: 'Of the response.' },
    object: oneOf('approval'),
    model: TEXT,
    created_at: SECONDS,
    conversation: nullable(object({ id: TEXT })),
    requests: listOf(ref('Item')),
  }),
  ApprovalList: pageOf('Approval'),
} as const satisfies Readonly<Record<string, JsonSchema>>;
