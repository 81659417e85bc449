import { PROTOCOL_EVENTS } from '../../../protocol/index.js';
import type { JsonSchema } from '../../../validation/index.js';
import { INTEGER, listOf, type Members, NUMBER, object, OBJECT, oneOf, ref, TEXT } from './shape.js';

const ITEM = { item_id: TEXT, output_index: INTEGER };
const CONTENT = { ...ITEM, content_index: INTEGER };
const SUMMARY = { ...ITEM, summary_index: INTEGER };
const COMMAND = { output_index: INTEGER, command_index: INTEGER };

/** The members of events by the name without `response.`; the first that fits counts (protocol §4). */
const MEMBERS: readonly (readonly [name: RegExp, members: Members])[] = [
  [/^(created|queued|in_progress|completed|incomplete|failed)$/, { response: ref('Response') }],
  [/^output_item\.(added|done)$/, { output_index: INTEGER, item: ref('Item') }],
  [/^output_item\.interrupted$/, { response_id: TEXT, ...ITEM }],
  [/^content_part\./, { ...CONTENT, part: OBJECT }],
  [/^output_text\.delta$/, { ...CONTENT, delta: TEXT, logprobs: listOf(OBJECT) }],
  [/^output_text\.done$/, { ...CONTENT, text: TEXT, logprobs: listOf(OBJECT) }],
  [/^output_text\.annotation\.added$/, { ...CONTENT, annotation_index: INTEGER, annotation: OBJECT }],
  [/^refusal\.done$/, { ...CONTENT, refusal: TEXT }],
  [/^(refusal|reasoning|reasoning_text)\.delta$/, { ...CONTENT, delta: TEXT }],
  [/^(reasoning|reasoning_text)\.done$/, { ...CONTENT, text: TEXT }],
  [/^reasoning_summary_part\./, { ...SUMMARY, part: OBJECT }],
  [/^reasoning_summary_text\.delta$/, { ...SUMMARY, delta: TEXT }],
  [/^reasoning_summary_text\.done$/, { ...SUMMARY, text: TEXT }],
  [/^shell_call_command\.delta$/, { ...COMMAND, delta: TEXT }],
  [/^shell_call_command\./, { ...COMMAND, command: TEXT }],
  [/^shell_call_output_content\.delta$/, { ...ITEM, command_index: INTEGER, delta: OBJECT }],
  [/^shell_call_output_content\.done$/, { ...ITEM, command_index: INTEGER, output: {} }],
  [/\.partial_image$/, { ...ITEM, partial_image_index: NUMBER, partial_image_b64: TEXT }],
  [/_(arguments|input|code|diff)\.delta$/, { ...ITEM, delta: TEXT }],
  [/_arguments\.done$/, { ...ITEM, arguments: TEXT }],
  [/_input\.done$/, { ...ITEM, input: TEXT }],
  [/_code\.done$/, { ...ITEM, code: TEXT }],
  [/_diff\.done$/, { ...ITEM, diff: TEXT }],
  [/^(\w+_call|mcp_list_tools|compaction)\.\w+$/, ITEM],
];

/** Events that only sockets send: the answers to steering and interrupting. */
const SOCKETS_ONLY = /^response\.(steer|interrupt)\.|\.interrupted$/;

/** What accompanies the events of responses; described with the frames of sockets. */
const OTHERS: ReadonlySet<string> = new Set(['error', 'keepalive']);

/** The types of the events of responses, over SSE and sockets. */
export const EVENT_TYPES: readonly string[] = [...PROTOCOL_EVENTS].filter(
  (type) => !OTHERS.has(type) && !/^response\.(steer|interrupt)\./.test(type),
);

/** The types of the events that streams over SSE have. */
const STREAMED = EVENT_TYPES.filter((type) => !SOCKETS_ONLY.test(type));

/** `response.output_text.delta` becomes `ResponseOutputTextDeltaEvent`. */
export function nameOfEvent(type: string): string {
  return `${type.replace(/(?:^|[._])(\w)/g, (_, letter: string) => letter.toUpperCase())}Event`;
}

function schemaOfEvent(type: string): JsonSchema {
  const name = type.slice('response.'.length);
  const members = MEMBERS.find(([pattern]) => pattern.test(name))?.[1];
  if (members === undefined) throw new Error(`The event '${type}' has no schema.`);
  const delta: Members = members.delta === TEXT ? { obfuscation: TEXT } : {};
  return object({ type: oneOf(type), sequence_number: INTEGER, ...members }, { ...delta, stream_id: TEXT });
}

/** The events of responses (protocol §4). `obfuscation` is on SSE, `stream_id` on sockets. Throws an Error for an event without a schema. */
export const EVENT_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  ...Object.fromEntries(EVENT_TYPES.map((type) => [nameOfEvent(type), schemaOfEvent(type)])),
  KeepaliveEvent: {
    ...object({ type: oneOf('keepalive') }),
    description: 'Sent in silence; not part of the response.',
  },
  StreamEvent: { anyOf: [...STREAMED.map((type) => ref(nameOfEvent(type))), ref('KeepaliveEvent')] },
};
