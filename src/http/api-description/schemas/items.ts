import type { JsonSchema } from '../../../validation/index.js';
import { ANY, FLAG, listOf, nullable, NUMBER, object, OBJECT, oneOf, ref, TEXT } from './shape.js';

const ID = { id: TEXT };
const STATUS = oneOf('in_progress', 'completed', 'incomplete');

const CALL = { ...ID, call_id: TEXT, name: TEXT };
const CALL_OPTIONS = { status: nullable(STATUS), namespace: nullable(TEXT), async: nullable(FLAG), caller: ANY };

const OUTPUT = { anyOf: [TEXT, listOf(ref('ContentPart'))] };

const KNOWN_PARTS = ['input_text', 'input_image', 'input_file', 'output_text', 'refusal'];

const KNOWN_ITEMS = [
  ...['message', 'reasoning', 'function_call', 'function_call_output'],
  ...['custom_tool_call', 'custom_tool_call_output', 'compaction'],
];

/** Items and their parts as the service sends them (protocol §3). */
export const ITEM_SCHEMAS = {
  Logprob: object(
    { token: TEXT, logprob: NUMBER },
    { bytes: listOf({ type: 'integer' }), top_logprobs: listOf(OBJECT) },
  ),
  ContentPart: {
    anyOf: [
      object(
        { type: oneOf('output_text'), text: TEXT },
        // Texts that clients have sent are returned as they were sent.
        { annotations: nullable(listOf(OBJECT)), logprobs: nullable(listOf(ref('Logprob'))) },
      ),
      object({ type: oneOf('refusal'), refusal: TEXT }),
      object({ type: oneOf('input_text'), text: TEXT }),
      object(
        { type: oneOf('input_image') },
        { detail: nullable(TEXT), image_url: nullable(TEXT), file_id: nullable(TEXT) },
      ),
      object(
        { type: oneOf('input_file') },
        { file_id: nullable(TEXT), file_data: nullable(TEXT), file_url: nullable(TEXT), filename: nullable(TEXT) },
      ),
      object({ type: { type: 'string', not: { enum: KNOWN_PARTS } } }),
    ],
  },
  Message: object(
    {
      ...ID,
      type: oneOf('message'),
      role: oneOf('user', 'assistant', 'system', 'developer'),
      content: listOf(ref('ContentPart')),
    },
    { status: STATUS, phase: nullable(TEXT) },
  ),
  ReasoningItem: object(
    { ...ID, type: oneOf('reasoning'), summary: listOf(object({ type: oneOf('summary_text'), text: TEXT })) },
    { content: nullable(listOf(object({ type: TEXT }))), encrypted_content: nullable(TEXT), status: nullable(STATUS) },
  ),
  FunctionCallItem: object({ ...CALL, type: oneOf('function_call'), arguments: TEXT }, CALL_OPTIONS),
  FunctionCallOutputItem: object(
    { ...ID, type: oneOf('function_call_output'), output: OUTPUT },
    { call_id: nullable(TEXT), status: nullable(STATUS) },
  ),
  CustomToolCallItem: object({ ...CALL, type: oneOf('custom_tool_call'), input: TEXT }, CALL_OPTIONS),
  CustomToolCallOutputItem: object(
    { ...ID, type: oneOf('custom_tool_call_output'), call_id: TEXT, output: OUTPUT },
    { status: nullable(STATUS) },
  ),
  CompactionItem: object({ ...ID, type: oneOf('compaction'), encrypted_content: TEXT }, { status: nullable(STATUS) }),
  OtherItem: {
    ...object({ ...ID, type: { type: 'string', not: { enum: KNOWN_ITEMS } } }),
    description: 'An item of another type, such as a call of a hosted tool. It passes through unchanged.',
  },
  Item: {
    anyOf: [
      ...['Message', 'ReasoningItem', 'FunctionCallItem', 'FunctionCallOutputItem', 'CustomToolCallItem'],
      ...['CustomToolCallOutputItem', 'CompactionItem', 'OtherItem'],
    ].map(ref),
  },
} as const satisfies Readonly<Record<string, JsonSchema>>;
