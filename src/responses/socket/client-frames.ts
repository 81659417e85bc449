import { type Definitions, type JsonSchema, schemaOf, schemaOfObject } from '../../validation/index.js';
import { CreateEventBody, input, steerInput } from '../dto/index.js';
import type { CLIENT_EVENTS } from './client-frame.js';

const LANE: JsonSchema = {
  anyOf: [{ type: 'string', pattern: '^[A-Za-z0-9_.-]{1,256}$' }, { type: 'null' }],
  description: 'The lane of the turn; without it, the default lane.',
};

const frame = (type: string, properties: JsonSchema, required: readonly string[] = []): JsonSchema => ({
  type: 'object',
  required: ['type', ...required],
  properties: { type: { type: 'string', const: type }, ...properties },
});

/** The frames of clients by type, as JSON Schemas (protocol §6.2). Nested requests (`response`) are left out: new clients need not send them. */
export const CLIENT_FRAMES: Readonly<Record<(typeof CLIENT_EVENTS)[number], (definitions: Definitions) => JsonSchema>> =
  {
    'response.create': (definitions) => ({
      allOf: [
        frame('response.create', { stream_id: LANE }),
        definitions.refer('CreateEventBody', CreateEventBody, () =>
          withoutIgnored(schemaOfObject(CreateEventBody, definitions)),
        ),
      ],
    }),
    'response.append': (definitions) =>
      frame('response.append', { stream_id: LANE, input: listIn(schemaOf(input, definitions)), client_metadata: {} }, [
        'input',
      ]),
    'response.steer': (definitions) => ({
      ...frame(
        'response.steer',
        { previous_response_id: { type: 'string' }, input: schemaOf(steerInput, definitions) },
        ['previous_response_id', 'input'],
      ),
      additionalProperties: false,
    }),
    'response.interrupt': () => ({
      ...frame(
        'response.interrupt',
        { response_id: { type: 'string' }, mode: { type: 'string', const: 'discard_partial_items' } },
        ['response_id', 'mode'],
      ),
      additionalProperties: false,
    }),
    'response.processed': () => frame('response.processed', {}),
  };

/** Of a text or a list, the list: an append takes no text. */
function listIn({ anyOf }: JsonSchema): JsonSchema {
  return (anyOf as readonly JsonSchema[]).find(({ type }) => type === 'array') ?? {};
}

/**
 * Every turn of a socket streams, and none runs in the background: these members are ignored, whatever they are (protocol §6.2). The lane is
 * described with the frame.
 */
function withoutIgnored({ properties, ...schema }: JsonSchema): JsonSchema {
  const {
    stream: _stream,
    background: _background,
    stream_id: _lane,
    ...rest
  } = properties as Readonly<Record<string, JsonSchema>>;
  return { ...schema, properties: rest };
}
