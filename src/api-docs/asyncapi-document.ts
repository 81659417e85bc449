import { EVENT_TYPES, nameOfEvent, ref, SENT_SCHEMAS, SOCKET_FRAMES } from '../api-description/schemas/index.js';
import { readVersion } from '../read-version.js';
import { CLIENT_FRAMES } from '../responses/socket/index.js';
import { Definitions, type JsonSchema } from '../validation/index.js';

const DESCRIPTION = `WebSocket mode of the Responses API: a client opens one socket on the path of \`POST /responses\` and runs many turns on it.
Web pages, which cannot send headers, give a token of \`POST /socket_tokens\` as a subprotocol, beside the subprotocol \`antiphon\`.
Each message is one JSON object in a text message. A turn is answered with the events of its response, or with one \`error\`.`;

/** A message of a channel: its name in the document, its type on the wire, and its schema. */
type Message = readonly [name: string, type: string, payload: JsonSchema];

/**
 * The AsyncAPI 3 document of the sockets of an API.
 *
 * @param address the path of the sockets, such as `/v1/responses`
 */
export function writeAsyncApi(address: string): JsonSchema {
  const definitions = new Definitions('#/components/schemas/');
  const received = Object.entries(CLIENT_FRAMES).map(([type, describe]): Message => [
    nameOfFrame(type, 'Request'),
    type,
    describe(definitions),
  ]);
  for (const [name, schema] of Object.entries(SENT_SCHEMAS)) definitions.refer(name, schema, () => schema);
  const sent: readonly Message[] = [
    ...EVENT_TYPES.map((type): Message => [nameOfEvent(type), type, ref(nameOfEvent(type))]),
    ...Object.entries(SOCKET_FRAMES).map(([type, schema]): Message => [nameOfFrame(type, 'Frame'), type, schema]),
  ];
  const messages = [...received, ...sent];
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Antiphon',
      version: readVersion(),
      description: DESCRIPTION,
      license: { name: 'Apache-2.0' },
    },
    defaultContentType: 'application/json',
    channels: {
      responses: {
        address,
        description: 'Turns on lanes: messages with the same `stream_id` belong together.',
        messages: Object.fromEntries(messages.map(([name]) => [name, { $ref: `#/components/messages/${name}` }])),
        bindings: { ws: { method: 'GET', bindingVersion: '0.1.0' } },
      },
    },
    operations: {
      receive: { ...operation('receive', received), summary: 'What clients send.' },
      send: { ...operation('send', sent), summary: 'What the service sends.' },
    },
    components: {
      messages: Object.fromEntries(messages.map(([name, type, payload]) => [name, { name: type, payload }])),
      schemas: definitions.all(),
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
    },
  };
}

function operation(action: 'receive' | 'send', messages: readonly Message[]): JsonSchema {
  return {
    action,
    channel: { $ref: '#/channels/responses' },
    messages: messages.map(([name]) => ({ $ref: `#/channels/responses/messages/${name}` })),
  };
}

function nameOfFrame(type: string, kind: 'Request' | 'Frame'): string {
  return nameOfEvent(type).replace(/Event$/, kind);
}
