// Slow: generates and compiles clients.

import { expect, it } from '@jest/globals';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { toFile } from 'openai';

import { describeService } from '../support/describe-service.js';
import { SocketClient } from '../support/socket-client.js';
import {
  DESCRIBED,
  type DocumentedOperation,
  type Json,
  type OpenApi,
  operationsIn,
  readDocument,
} from './documents.js';

const POLL = { pollIntervalMs: 5 };
const EXPIRY = { anchor: 'last_active_at', days: 1 };

const OPEN = { model: 'gpt-5', input: 'Hello!' };
const CHAT = { model: 'gpt-5', messages: [{ role: 'user', content: 'Hello!' }] };

/** Validates against the schemas of a document. */
class Schemas {
  private readonly ajv = new Ajv2020({ strict: false, validateFormats: false });
  /** By the text of their schema: it takes long to compile one with all that it refers to. */
  private readonly validators = new Map<string, ValidateFunction>();

  constructor({ components }: OpenApi) {
    this.ajv.addSchema({ $id: 'api:', components });
  }

  /** What is wrong with a value, in the order of its schema; empty when nothing is. */
  faults(value: unknown, schema: Json): readonly string[] {
    const absolute = JSON.stringify(schema).replaceAll('"#/', '"api:#/');
    const validate = this.validators.get(absolute) ?? this.ajv.compile(JSON.parse(absolute) as Json);
    this.validators.set(absolute, validate);
    if (validate(value)) return [];
    return (validate.errors ?? []).map(({ instancePath, message = '' }) => `${instancePath} ${message}`);
  }
}

describeService('what the service answers', DESCRIBED, (service) => {
  it('every route answers with the schemas of the document', async () => {
    const document = await readDocument(service.origin);
    const schemas = new Schemas(document);
    const answered = new Map<string, unknown>();
    const call = async (id: string, path: string, body?: object): Promise<Json> => {
      const operation = operationsIn(document).find(({ operationId }) => operationId === id);
      if (operation === undefined) throw new Error(`no operation ${id}`);
      const answer = await service.api.send(operation.method.toUpperCase(), path, body);
      expect([id, answer.status, answer.body]).toEqual([id, 200, answer.body]);
      expect([id, schemas.faults(answer.body, schemaOf(operation))]).toEqual([id, []]);
      expect([id, unknownMembers(answer.body, schemaOf(operation), document)]).toEqual([id, []]);
      answered.set(id, answer.body);
      return answer.body;
    };
    const first = await call('createResponse', 'responses', { ...OPEN, metadata: { a: 'b' }, user: 'ada' });
    const second = await call('createResponse', 'responses', { ...OPEN, previous_response_id: first.id });
    for (const kind of ['children', 'siblings', 'leaves'] as const) {
      await call(`list${kind.charAt(0).toUpperCase()}${kind.slice(1)}`, `responses/${String(first.id)}/${kind}`);
    }
    await call('getTree', `responses/${String(first.id)}/tree`);
    await call('listResponses', 'responses');
    await call('listApprovals', 'approvals');
    await call('getResponse', `responses/${String(second.id)}`);
    await call('listInputItems', `responses/${String(second.id)}/input_items`);
    await call('countInputTokens', 'responses/input_tokens', OPEN);
    // Items of clients are stored as they were sent.
    const replayed = await call('createResponse', 'responses', {
      model: 'gpt-5',
      input: [
        { role: 'assistant', content: [{ type: 'output_text', text: 'Hi' }] },
        { role: 'assistant', content: [{ type: 'output_text', text: 'Hi', annotations: null, logprobs: null }] },
        { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}', status: null },
        { type: 'function_call_output', call_id: 'c', output: 'x' },
      ],
    });
    await call('listInputItems', `responses/${String(replayed.id)}/input_items`);
    const compacted = await call('compact', 'responses/compact', OPEN);
    await call('createResponse', 'responses', {
      model: 'gpt-5',
      input: [...(compacted.output as object[]), { role: 'user', content: 'Hi' }],
    });
    const background = await call('createResponse', 'responses', { ...OPEN, background: true });
    await call('cancelResponse', `responses/${String(background.id)}/cancel`);
    const session = { model: 'gpt-5', input: 'Hi' };
    await service.api.with({ 'x-session-id': 'one' }).create(session);
    await call('listSessionResponses', 'sessions/one/responses');
    await call('forkSession', 'sessions/one/fork', { target_session_id: 'two' });
    await call('deleteSession', 'sessions/two');
    await call('createEmbeddings', 'embeddings', { model: 'text-embedding-3-small', input: 'Hi', dimensions: 4 });
    const messages = [{ role: 'user', content: 'Hi' }];
    const thinking = { type: 'enabled', budget_tokens: 1024 };
    await call('createMessage', 'messages', { model: 'o3', max_tokens: 4096, messages, thinking });
    await call('countMessageTokens', 'messages/count_tokens', { model: 'gpt-5', messages });
    const completion = await call('createChatCompletion', 'chat/completions', {
      ...CHAT,
      store: true,
      metadata: { a: 'b' },
    });
    await call('getChatCompletion', `chat/completions/${String(completion.id)}`);
    await call('updateChatCompletion', `chat/completions/${String(completion.id)}`, { metadata: { c: 'd' } });
    await call('listChatCompletions', 'chat/completions');
    await call('listChatMessages', `chat/completions/${String(completion.id)}/messages`);
    await call('deleteChatCompletion', `chat/completions/${String(completion.id)}`);
    await call('listModels', 'models');
    await call('getModel', 'models/gpt-5');
    await call('listPrompts', 'prompts');
    await call('getPrompt', 'prompts/pmpt_hello');
    const prompt = { id: 'pmpt_hello', variables: { name: 'Ada' } };
    await call('createResponse', 'responses', { prompt });
    const items = [{ type: 'message', role: 'user', content: 'Hi' }];
    const conversation = await call('createConversation', 'conversations', { items, metadata: { a: 'b' } });
    const path = `conversations/${String(conversation.id)}`;
    await call('getConversation', path);
    await call('updateConversation', path, { metadata: { c: 'd' } });
    await call('createResponse', 'responses', { ...OPEN, conversation: conversation.id });
    const added = await call('createConversationItems', `${path}/items`, { items });
    const item = String((added.data as readonly Json[])[0]?.id);
    await call('listConversationItems', `${path}/items`);
    await call('getConversationItem', `${path}/items/${item}`);
    await call('deleteConversationItem', `${path}/items/${item}`);
    await call('deleteConversation', path);
    await call('deleteResponse', `responses/${String(second.id)}`);
    await using socket = await SocketClient.open(service);
    await socket.turn(OPEN);
    const form = (name: string): FormData => {
      const data = new FormData();
      data.set(name, new Blob(['Hi']), 'a.txt');
      data.set('purpose', 'user_data');
      return data;
    };
    const file = await call('createFile', 'files', form('file'));
    await call('listFiles', 'files');
    await call('getFile', `files/${String(file.id)}`);
    answered.set('getFileContent', await (await fetch(`${service.baseURL}/files/${String(file.id)}/content`)).text());
    await call('deleteFile', `files/${String(file.id)}`);
    const announced = { bytes: 2, filename: 'a.txt', mime_type: 'text/plain', purpose: 'user_data' };
    const upload = await call('createUpload', 'uploads', announced);
    const part = await call('createUploadPart', `uploads/${String(upload.id)}/parts`, form('data'));
    await call('completeUpload', `uploads/${String(upload.id)}/complete`, { part_ids: [part.id] });
    const another = await call('createUpload', 'uploads', announced);
    await call('cancelUpload', `uploads/${String(another.id)}/cancel`);
    const { id: stored } = await call('createFile', 'files', form('file'));
    const store = await call('createVectorStore', 'vector_stores', { expires_after: EXPIRY, metadata: { a: 'b' } });
    const stores = `vector_stores/${String(store.id)}`;
    await call('listVectorStores', 'vector_stores');
    await call('getVectorStore', stores);
    await call('updateVectorStore', stores, { name: 'Rules' });
    await call('createVectorStoreFile', `${stores}/files`, { file_id: stored, attributes: { year: 2026 } });
    await call('listVectorStoreFiles', `${stores}/files`);
    const batch = await call('createVectorStoreFileBatch', `${stores}/file_batches`, { file_ids: [stored] });
    const batches = `${stores}/file_batches/${String(batch.id)}`;
    await call('getVectorStoreFileBatch', batches);
    await call('listVectorStoreFileBatchFiles', `${batches}/files`);
    await call('cancelVectorStoreFileBatch', `${batches}/cancel`);
    const inStore = `${stores}/files/${String(stored)}`;
    await service.client().vectorStores.files.createAndPoll(String(store.id), { file_id: String(stored) }, POLL);
    await call('getVectorStoreFile', inStore);
    await call('updateVectorStoreFile', inStore, { attributes: { draft: true } });
    await call('getVectorStoreFileContent', `${inStore}/content`);
    const found = await call('searchVectorStore', `${stores}/search`, { query: 'Hi' });
    expect(found.data).toHaveLength(1);
    await call('deleteVectorStoreFile', inStore);
    await call('deleteVectorStore', stores);
    const connections = await call('listConnections', 'connections');
    await call('retireConnection', `connections/${String((connections.data as readonly Json[])[0]?.id)}`);
    await call('createSocketToken', 'socket_tokens', { origin: 'https://app.example.com' });
    await call('getActivity', 'activity');
    await call('getTurn', `responses/${String(first.id)}/turn`);
    await call('getUsage', 'usage?group_by=model,provider');
    // A new route needs a line here.
    expect([...answered.keys()].sort()).toEqual(
      operationsIn(document)
        .map(({ operationId }) => operationId)
        .sort(),
    );
  });

  it('every refusal has the schema of errors', async () => {
    const document = await readDocument(service.origin);
    const schemas = new Schemas(document);
    for (const [path, body, status, code] of [
      ['responses', {}, 400, 'missing_required_parameter'],
      ['responses', { model: 'gpt-5', input: 1 }, 400, 'invalid_type'],
      ['responses', { ...OPEN, temperature: 3 }, 400, 'decimal_above_max_value'],
      ['responses', { ...OPEN, previous_response_id: 'resp_none' }, 400, 'previous_response_not_found'],
      ['conversations', { items: 1 }, 400, 'invalid_type'],
      ['sessions/none/fork', { target_session_id: '' }, 400, 'invalid_value'],
      ['responses/resp_none/cancel', {}, 404, null],
    ] as const) {
      const answer = await service.api.post(path, body);
      expect([path, answer.status, (answer.body['error'] as Json).code]).toEqual([path, status, code]);
      expect(schemas.faults(answer.body, { $ref: '#/components/schemas/Error' })).toEqual([]);
      const operation = document.paths[`/${path.replace('resp_none', '{id}').replace('none', '{id}')}`]?.post;
      const described = JSON.stringify(operation?.responses[status]);
      expect([path, described]).toEqual([path, expect.stringContaining(code ?? 'does not exist')]);
    }
  });

  it('the service accepts every example of a body', async () => {
    const document = await readDocument(service.origin);
    const schemas = new Schemas(document);
    const conversation = (await service.api.post('conversations', {})).body;
    const store = (await service.api.post('vector_stores', {})).body;
    const file = (
      await service.client().files.create({ file: await toFile(Buffer.from('Hi'), 'a.txt'), purpose: 'user_data' })
    ).id;
    await service.api.post(`vector_stores/${String(store.id)}/files`, { file_id: file });
    const session = await service.api.with({ 'x-session-id': 'example' }).create({ model: 'gpt-5' });
    const completion = { id: session.id.replace('resp_', 'chatcmpl-') };
    const owners: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
      vector_stores: store,
      conversations: conversation,
      chat: completion,
    };
    let sent = 0;
    for (const { path, method, requestBody } of operationsIn(document)) {
      const content = requestBody?.content['application/json'];
      for (const [name, { value }] of Object.entries(content?.examples ?? {})) {
        expect([path, name, schemas.faults(value, content?.schema ?? {})]).toEqual([path, name, []]);
        const { id = 'example' } = owners[path.split('/')[1] ?? ''] ?? {};
        const target = path.replace('{id}', String(id)).replace('{file}', file);
        const answer = await fetch(`${service.baseURL}${target}`, {
          method: method.toUpperCase(),
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(value),
        });
        expect([path, name, answer.status, await answer.text()]).toEqual([path, name, 200, expect.any(String)]);
        sent += 1;
      }
    }
    expect(sent).toBeGreaterThan(9);
  });

  it('the service streams events that have the schemas of the document', async () => {
    const document = await readDocument(service.origin);
    const schemas = new Schemas(document);
    const tools = [{ type: 'function', name: 'f', parameters: { type: 'object', properties: {} } }];
    const types = new Set<string>();
    for (const body of [
      OPEN,
      { ...OPEN, tools, tool_choice: 'required' },
      { ...OPEN, reasoning: { effort: 'high', summary: 'auto' } },
    ]) {
      // Again where the service has closed a connection meanwhile: this file computes for long.
      const stream = (await service
        .client({ maxRetries: 2 })
        .responses.create({ ...body, stream: true } as never)) as unknown as AsyncIterable<Json>;
      for await (const event of stream) {
        types.add(String(event.type));
        const name = nameOf(String(event.type));
        const schema = { $ref: `#/components/schemas/${name}` };
        expect([event.type, schemas.faults(event, schema)]).toEqual([event.type, []]);
        expect([event.type, unknownMembers(event, schema, document)]).toEqual([event.type, []]);
        expect(schemas.faults(event, { $ref: '#/components/schemas/StreamEvent' })).toEqual([]);
      }
    }
    expect([...types]).toEqual(
      expect.arrayContaining([
        'response.created',
        'response.output_text.delta',
        'response.function_call_arguments.done',
        'response.completed',
      ]),
    );
  });
});

describeService('what Chat Completions streams', DESCRIBED, (service) => {
  it('what Chat Completions streams has the schema of the document', async () => {
    const document = await readDocument(service.origin);
    const schemas = new Schemas(document);
    const schema = { $ref: '#/components/schemas/ChatCompletionChunk' };
    const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } }];
    for (const body of [CHAT, { ...CHAT, tools, tool_choice: 'required' }]) {
      const stream = (await service.client({ maxRetries: 2 }).chat.completions.create({
        ...body,
        stream: true,
        stream_options: { include_usage: true },
      } as never)) as unknown;
      const chunks = await Array.fromAsync(stream as AsyncIterable<Json>);
      expect(chunks.length).toBeGreaterThan(3);
      expect(chunks.flatMap((chunk) => schemas.faults(chunk, schema))).toEqual([]);
      expect(chunks.flatMap((chunk) => unknownMembers(chunk, schema, document))).toEqual([]);
    }
  });
});

function schemaOf({ responses }: DocumentedOperation): Json {
  return responses['200']?.content['application/json']?.schema ?? {};
}

/** `response.output_text.delta` as the document names it. */
function nameOf(type: string): string {
  return `${type.replace(/(?:^|[._])(\w)/g, (_, letter: string) => letter.toUpperCase())}Event`;
}

/** Members at the top level, and of a Response in it, that the schema does not name: it would have to be completed. */
function unknownMembers(value: Json, schema: Json, document: OpenApi): readonly string[] {
  const resolved = resolve(schema, document);
  const { properties, anyOf } = resolved as { properties?: Readonly<Record<string, Json>>; anyOf?: readonly Json[] };
  if (anyOf !== undefined) {
    const matching = anyOf.map((one) => resolve(one, document)).filter((one) => isOfType(value, one));
    return matching.some((one) => unknownMembers(value, one, document).length === 0) ? [] : Object.keys(value);
  }
  return Object.entries(value).flatMap(([name, member]) => {
    const own = properties?.[name];
    if (own === undefined) return [name];
    return typeof member === 'object' && member !== null && !Array.isArray(member) && '$ref' in own
      ? unknownMembers(member as Json, own, document).map((inner) => `${name}.${inner}`)
      : [];
  });
}

function isOfType(value: Json, { properties }: Json): boolean {
  const type = (properties as { type?: Json } | undefined)?.type;
  return type === undefined || type.const === value.type;
}

function resolve(schema: Json, { components }: OpenApi): Json {
  const name = typeof schema.$ref === 'string' ? schema.$ref.split('/').at(-1) : undefined;
  return name === undefined ? schema : (components.schemas[name] ?? {});
}
