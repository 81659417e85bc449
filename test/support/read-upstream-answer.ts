import { EventReader } from '../../src/providers/responses/answer/event-reader.js';
import { type Profile, PROFILES } from '../../src/providers/responses/profile.js';
import { Statistics } from '../../src/providers/responses/statistics.js';
import type { ModelEvent } from '../../src/providers/index.js';

/** An event of an upstream, or a text that is none. */
export type UpstreamText = Readonly<Record<string, unknown>> | string;

/** What a reader made of an answer. */
export interface ReadAnswer {
  readonly reader: EventReader;
  readonly events: readonly ModelEvent[];
  readonly counts: Readonly<Record<string, number>>;
  /** What `read` returned for each event. */
  readonly isOver: readonly boolean[];
}

/** Reads the events of an upstream as they are in November 2026, over SSE unless `over` says otherwise. */
export function readUpstreamAnswer(
  texts: readonly UpstreamText[],
  over: { readonly transport?: 'sse' | 'websocket'; readonly profile?: Profile['name'] } = {},
): ReadAnswer {
  const statistics = new Statistics();
  const { transport = 'sse', profile = 'codex-2026-11' } = over;
  const reader = new EventReader({ profile: PROFILES[profile], secrets: [], transport, now: () => 0 }, statistics);
  const isOver = texts.map((text) => reader.read(typeof text === 'string' ? text : JSON.stringify(text)));
  return { reader, events: reader.take(), counts: statistics.counts, isOver };
}

/** A finished message. */
export const message = (text: string) => ({
  type: 'message',
  id: 'msg_1',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text, annotations: [], logprobs: [] }],
});

/** A finished function call. */
export const call = (members: object = {}) => ({
  type: 'function_call',
  id: 'fc_1',
  call_id: 'call_1',
  name: 'f',
  arguments: '{}',
  ...members,
});

/** `response.output_item.added`. */
export const added = (item: Readonly<Record<string, unknown>>, index = 0) => ({
  type: 'response.output_item.added',
  output_index: index,
  item,
});

/** `response.output_item.done`. */
export const done = (item: Readonly<Record<string, unknown>>, index = 0) => ({
  type: 'response.output_item.done',
  output_index: index,
  item,
});

/** `response.completed`. */
export const completed = (response: object = {}) => ({
  type: 'response.completed',
  response: { id: 'resp_u', ...response },
});

/** A delta of the first part of the message. */
export const delta = (members: object = {}) => ({
  type: 'response.output_text.delta',
  output_index: 0,
  item_id: 'msg_1',
  content_index: 0,
  delta: 'hi',
  logprobs: [],
  ...members,
});
