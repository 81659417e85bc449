import { createRequire } from 'node:module';

import { expect, it } from '@jest/globals';
import { Ajv } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';

import { PROTOCOL_EVENTS } from '../../src/index.js';
import { describeService } from '../support/describe-service.js';
import { SocketClient } from '../support/socket-client.js';
import { DESCRIBED, type Json, readDocument } from './documents.js';

interface AsyncApi {
  readonly channels: Readonly<Record<string, Json & { readonly address: string }>>;
  readonly operations: Readonly<Record<string, { readonly messages: readonly { readonly $ref: string }[] }>>;
  readonly components: {
    readonly messages: Readonly<Record<string, { readonly name: string; readonly payload: Json }>>;
    readonly schemas: Readonly<Record<string, Json>>;
  };
}

const SPECIFICATION = createRequire(import.meta.url)('@asyncapi/specs/schemas/3.0.0-without-$id.json') as object;
const CREATE = { type: 'response.create', model: 'gpt-5', input: 'Hi' };

/** The types of the messages that an operation has. */
function typesOf({ operations, components }: AsyncApi, operation: 'receive' | 'send'): string[] {
  const references = operations[operation]?.messages ?? [];
  return references.map(({ $ref }) => components.messages[$ref.split('/').at(-1) ?? '']?.name ?? '').sort();
}

/** Whether a message has the schema of its type. */
function accepts({ components }: AsyncApi, message: Json): boolean {
  const payload = Object.values(components.messages).find(({ name }) => name === message.type)?.payload;
  if (payload === undefined) throw new Error(`no message ${String(message.type)}`);
  return new Ajv2020({ strict: false }).compile({ ...payload, components })(message);
}

describeService('the AsyncAPI document', DESCRIBED, (service) => {
  const read = (): Promise<AsyncApi> => readDocument<AsyncApi>(service.origin, '/asyncapi.json');

  it('the AsyncAPI document is valid', async () => {
    const document = await read();
    const ajv = new Ajv({ strict: false, validateFormats: false, logger: false });
    const isValid = ajv.validate(SPECIFICATION, document);
    expect([isValid, ajv.errors?.slice(0, 3)]).toEqual([true, undefined]);
    expect(document.channels.responses?.address).toBe('/v1/responses');
  });

  it('the AsyncAPI document has the events that the service can send, and no others', async () => {
    const besides = ['connection_expiring', 'response.metadata'];
    expect(typesOf(await read(), 'send')).toEqual([...PROTOCOL_EVENTS, ...besides].sort());
  });

  it('the AsyncAPI document has the events that the service takes', async () => {
    const document = await read();
    await using client = await SocketClient.open(service);
    client.send({ type: 'nothing' });
    const refusal = (await client.next()) as unknown as { readonly error: { readonly message: string } };
    const taken = [...refusal.error.message.matchAll(/'(response\.\w+)'/g)].map(([, type]) => type);
    expect(typesOf(document, 'receive')).toEqual(taken.sort());
    expect(accepts(document, refusal as never)).toBe(true);
  });

  it('the AsyncAPI document describes what a turn sends', async () => {
    const document = await read();
    await using client = await SocketClient.open(service);
    client.send({ ...CREATE, stream_id: 'lane' });
    for (;;) {
      const frame = (await client.next()) as Json;
      expect([frame.type, accepts(document, frame)]).toEqual([frame.type, true]);
      if (frame.type === 'response.completed') break;
    }
  });

  it.each<[string, object, boolean]>([
    ['a turn', CREATE, true],
    ['a turn on a lane', { ...CREATE, stream_id: 'a.b-c_1', generate: false, session_id: 'one' }, true],
    ['a lane with a blank', { ...CREATE, stream_id: 'a b' }, false],
    ['a turn without a model', { type: 'response.create', input: 'Hi' }, false],
    ['an append', { type: 'response.append', input: [{ role: 'user', content: 'Hi' }] }, true],
    ['an append of a text', { type: 'response.append', input: 'Hi' }, false],
    ['a steer', { type: 'response.steer', previous_response_id: 'resp_1', input: 'Shorter' }, true],
    [
      'a steer on a lane',
      { type: 'response.steer', previous_response_id: 'resp_1', input: 'x', stream_id: 'a' },
      false,
    ],
    ['an interrupt', { type: 'response.interrupt', response_id: 'resp_1', mode: 'discard_partial_items' }, true],
    ['an interrupt of another mode', { type: 'response.interrupt', response_id: 'resp_1', mode: 'soft' }, false],
    ['what Codex has processed', { type: 'response.processed', response_id: 'resp_1' }, true],
  ])('the AsyncAPI document judges %s', async (_, frame, isValid) => {
    expect(accepts(await read(), frame as Json)).toBe(isValid);
  });
});
