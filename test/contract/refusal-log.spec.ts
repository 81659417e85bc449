import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { ModelError } from '../../src/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { ServiceLog } from '../support/service-log.js';
import { useService } from '../support/describe-service.js';
import { RawClient, type RawRequest } from '../support/raw-client.js';
import { openSocket, receiveAll } from '../support/raw-socket.js';
import { SocketClient } from '../support/socket-client.js';

const JSON_TYPE = { 'content-type': 'application/json' };
const KEY = { authorization: 'Bearer key' };
const POST = { method: 'POST', path: '/v1/responses', headers: { ...JSON_TYPE, ...KEY } };
const ID = { 'x-request-id': 'mine' };
const LONGEST_MESSAGE = 64 * 1024;

describe('a refusal', () => {
  const service = useService({
    providers: [ScriptedProvider],
    environment: { API_KEYS: 'tenant:key', WS_MAX_MESSAGE_BYTES: LONGEST_MESSAGE },
  });
  let log: ServiceLog;

  beforeEach(() => {
    log = ServiceLog.begin();
  });

  afterEach(() => {
    log[Symbol.dispose]();
    expect(log.complaints).toEqual([]);
  });

  it.each<readonly [what: string, request: RawRequest, line: string]>([
    [
      'a parameter',
      { ...POST, body: '{"model":"m","input":"secret-body","temperature":9}' },
      'POST "/v1/responses" 400 decimal_above_max_value param="temperature" request=mine',
    ],
    ['a body', { ...POST, body: '{"model":secret-body' }, 'POST "/v1/responses" 400 invalid_json request=mine'],
    ['a caller', { ...POST, headers: JSON_TYPE, body: '{}' }, 'POST "/v1/responses" 401 - request=mine'],
    ['a path', { path: '/v1/nothing?key=secret', headers: KEY }, 'GET "/v1/nothing" 404 unknown_url request=mine'],
    [
      'a path that means harm',
      { path: '/v1/responses/resp_%0aGET%22x', headers: KEY },
      'GET "/v1/responses/resp_%0aGET%22x" 404 - request=mine',
    ],
    [
      'a whole URL',
      { path: 'http://user:secret@localhost/v1/nothing#secret', headers: KEY },
      'GET "/v1/nothing" 400 invalid_value request=mine',
    ],
    ['a response', { path: '/v1/responses/resp_1', headers: KEY }, 'GET "/v1/responses/resp_1" 404 - request=mine'],
  ])('a refusal of %s is one line', async (_, request, line) => {
    const client = new RawClient(service.port);
    await client.send({ ...request, headers: { ...request.headers, ...ID } });
    client.close();
    expect(log.notes).toEqual([`${line} Refused`]);
  });

  it('a refusal by the model is one line, also with a status of 500 and above', async () => {
    service.provider.play(async function* () {
      yield* [];
      throw new ModelError('overloaded', 'no room', { status: 503 });
    });
    const api = service.api.with({ ...KEY, ...ID });
    await expect(api.create({})).rejects.toMatchObject({ status: 503 });
    expect(log.notes).toEqual(['POST "/v1/responses" 503 overloaded request=mine Refused']);
  });

  it('a refusal by an upstream that is down has its cause', async () => {
    service.provider.play(async function* () {
      yield* [];
      const cause = new Error('secret-address', {
        cause: Object.assign(new Error('secret'), { code: 'ECONNREFUSED' }),
      });
      throw new ModelError('model_unavailable', 'not there', { status: 503, cause });
    });
    await expect(service.api.with({ ...KEY, ...ID }).create({})).rejects.toMatchObject({ status: 503 });
    expect(log.notes).toEqual(['POST "/v1/responses" 503 model_unavailable cause=ECONNREFUSED request=mine Refused']);
  });

  it('a refusal quotes a code that is the text of a model server', async () => {
    service.provider.play(async function* () {
      yield* [];
      throw new ModelError('no\nroom', 'no room', { status: 429 });
    });
    await expect(service.api.with({ ...KEY, ...ID }).create({})).rejects.toMatchObject({ status: 429 });
    expect(log.notes).toEqual([String.raw`POST "/v1/responses" 429 "no\nroom" request=mine Refused`]);
  });

  it('a refusal of what is no HTTP is one line', async () => {
    const client = new RawClient(service.port);
    const answer = await client.send({ path: '/', headers: { 'x-long': 'x'.repeat(20_000) } });
    client.close();
    expect(answer.status).toBe(431);
    expect(log.notes).toEqual([
      expect.stringMatching(/^an unreadable request 431 request_header_too_large request=req_\w+ Refused$/),
    ]);
  });

  it('a refusal of TLS on the plain port names it', async () => {
    const socket = await openSocket(service.port);
    // The beginning of a ClientHello.
    socket.write(Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03]));
    await receiveAll(socket);
    expect(log.notes).toEqual([
      expect.stringMatching(/^a TLS handshake, but this port speaks plain HTTP .*: 400 - request=req_\w+ Refused$/),
    ]);
  });

  it('a refusal of an upgrade is one line', async () => {
    await SocketClient.refused(service, { headers: ID });
    await SocketClient.refused(service, { headers: ID }, '/v1/nothing?key=secret');
    expect(log.notes).toEqual([
      'upgrade GET "/v1/responses" 401 - request=mine Refused',
      'upgrade GET "/v1/nothing" 404 unknown_url request=mine Refused',
    ]);
  });

  it('a refusal of a frame or a turn on a socket is one line with the name of the connection', async () => {
    const client = await SocketClient.open(service, { headers: KEY });
    for (const frame of ['secret-body', { type: 'response.none' }, { type: 'response.create', model: 1 }]) {
      client.send(frame);
      await client.next();
    }
    await client.close();
    const at = (rest: string): unknown =>
      expect.stringMatching(new RegExp(String.raw`^ws-[0-9a-f]{32} 400 ${rest} request=req_\w+ Refused$`));
    expect(log.notes).toEqual([
      at('invalid_json'),
      at('unknown_event_type param="type"'),
      at('invalid_type param="model"'),
    ]);
  });

  it('a refusal of a message that is too large is one line', async () => {
    const client = await SocketClient.open(service, { headers: KEY });
    client.send(`"${'x'.repeat(LONGEST_MESSAGE)}"`);
    expect(await client.closed).toMatchObject({ code: 1009 });
    expect(log.notes).toEqual([expect.stringMatching(/^ws-[0-9a-f]{32} 413 request_too_large Refused$/)]);
  });
});

describe('what is no refusal', () => {
  const service = useService({ providers: [ScriptedProvider] });
  let log: ServiceLog;

  beforeEach(() => {
    log = ServiceLog.begin();
  });

  afterEach(() => log[Symbol.dispose]());

  it('a turn that fails after its start is no refusal, and one line too', async () => {
    service.provider.play(async function* () {
      yield* [{ type: 'text', delta: 'Well, ' } as const];
      await Promise.resolve();
      throw new ModelError('rate_limit_exceeded', 'slower', { status: 429 });
    });
    const { id, status } = await service.api.with(ID).create({});
    expect(status).toBe('failed');
    expect(log.notes).toEqual([
      expect.stringMatching(
        new RegExp(`^${id} failed \\("rate_limit_exceeded"\\) tenant="\\w+" request=mine model="scripted" .* Turn$`),
      ),
    ]);
  });

  it('a client that leaves in the middle of its request is no refusal', async () => {
    const socket = await openSocket(service.port);
    const received = receiveAll(socket);
    socket.end(
      'POST /v1/responses HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{',
    );
    await received;
    expect(log.notes).toEqual([]);
  });
});
