import { EVENT_TYPES, nameOfEvent, ref, SENT_SCHEMAS, SOCKET_FRAMES } from '../api-description/schemas/index.js';
import { readVersion } from '../../read-version.js';
import { CLIENT_FRAMES } from '../../responses/socket/index.js';
import { Definitions, type JsonSchema } from '../../validation/index.js';

const DESCRIPTION = `WebSocket mode of the Responses API: a client opens one socket on the path of \`POST /responses\` and runs many turns on it.
Web pages, which cannot send headers, give a token of \`POST /socket_tokens\` as a subprotocol, beside the subprotocol \`antiphon\`.
Each message is one JSON object in a text message of at most WS_MAX_MESSAGE_BYTES. A turn is answered with the events of its response, or with one \`error\`,
which leaves the socket open.

An upgrade is refused over HTTP: 400 (not a WebSocket handshake), 401 (no valid key or token), 403 (scope, host or origin), 404 (another path), 426, 429 (wrong keys), 503
(shutdown).

| close code | when |
|---|---|
| 1000 | the socket expired or was idle, or was retired by its tenant |
| 1008 | a message has more than 1,024 fragments |
| 1009 | a message is too large |
| 1011 | the socket could not be set up |
| 1012 | the process restarts: connect again |
| 1013 | there is no room, or the client leaves too much unread: connect again later |`;

/** Headers of the handshake. */
const HANDSHAKE: JsonSchema = {
  type: 'object',
  properties: {
    authorization: { type: 'string', description: '`Bearer` and an API key or JSON Web Token.' },
    'sec-websocket-protocol': {
      type: 'string',
      description: 'Of web pages in place of `authorization`: `antiphon, antiphon.token.<token>`.',
    },
    'x-session-id': { type: 'string', description: 'Names the session of all turns that name none.' },
    'x-response-ttl': { type: 'string', description: 'The lifetime of stored responses in seconds.' },
  },
};

/** A message of a channel: its name in the document, its type on the wire, and its schema. */
type Message = readonly [name: string, type: string, payload: JsonSchema];

/**
 * The AsyncAPI 3 document of the sockets of an API.
 *
 * @param addresses the paths of the sockets, such as `/v1/responses`
 */
export function writeAsyncApi([address = '', ...others]: readonly string[]): JsonSchema {
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
        description: `Turns on lanes: messages with the same \`stream_id\` belong together.${alsoOn(others)}`,
        messages: Object.fromEntries(messages.map(([name]) => [name, { $ref: `#/components/messages/${name}` }])),
        bindings: { ws: { method: 'GET', headers: HANDSHAKE, bindingVersion: '0.1.0' } },
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
    security: [{ $ref: '#/components/securitySchemes/bearer' }],
    channel: { $ref: '#/channels/responses' },
    messages: messages.map(([name]) => ({ $ref: `#/channels/responses/messages/${name}` })),
  };
}

function alsoOn(addresses: readonly string[]): string {
  return addresses.length === 0 ? '' : ` The same on ${addresses.map((address) => `\`${address}\``).join(', ')}.`;
}

function nameOfFrame(type: string, kind: 'Request' | 'Frame'): string {
  return nameOfEvent(type).replace(/Event$/, kind);
}
