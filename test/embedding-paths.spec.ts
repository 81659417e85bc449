import { afterEach, describe, expect, it } from '@jest/globals';
import { Controller, type INestApplication, Module, Post, RequestMethod } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';

import { AntiphonModule, configureApp, createAdapter } from '../src/index.js';
import { ScriptedProvider } from '../src/testing/index.js';
import { handshakeOf } from './support/connection-raw.js';
import { exchange } from './support/raw-socket.js';
import { postJson } from './support/sse.js';
import { SocketClient } from './support/socket-client.js';

const KEY = 'sk-alpha';
const HEADERS = { authorization: `Bearer ${KEY}` };
const REQUEST = { model: 'm', input: 'Hi' };

/** A route of the program itself that looks like one of the API. */
@Controller('mine/v1/responses')
class OwnController {
  @Post()
  create(): string {
    return 'mine';
  }
}

/** One beside the API where it has its other prefix. */
@Controller('openai/v1/mine')
class OwnAliasController {
  @Post()
  create(): string {
    return 'mine too';
  }
}

@Module({
  imports: [AntiphonModule.forRoot({ providers: [ScriptedProvider], environment: { API_KEYS: `alpha:${KEY}` } })],
  controllers: [OwnController, OwnAliasController],
})
class ProgramModule {}

let app: NestFastifyApplication | undefined;
afterEach(() => app?.close());

/** Starts the program; answers with its port and its address. */
async function start(configure: (app: NestFastifyApplication) => void) {
  app = await NestFactory.create<NestFastifyApplication>(ProgramModule, createAdapter(), { logger: false });
  configure(app);
  await configureApp(app);
  await app.listen(0, '127.0.0.1');
  const { port } = app.getHttpServer().address() as { port: number };
  return { port, origin: `http://127.0.0.1:${port}` };
}

const upgradeOn = async (port: number, path: string, headers: Record<string, string> = HEADERS): Promise<number> =>
  (await exchange(port, handshakeOf({ path, headers })))[0]?.status ?? 0;

describe('a program with a global prefix', () => {
  it('a global prefix moves HTTP and sockets alike', async () => {
    const { port, origin } = await start((program) => program.setGlobalPrefix('api'));
    for (const path of ['/api/v1/responses', '/api/openai/v1/responses', '/api//v1/responses/']) {
      expect(await postJson(`${origin}${path}`, REQUEST, { headers: HEADERS })).toMatchObject({ status: 200 });
      await using client = await SocketClient.open({ port }, { headers: HEADERS }, path);
      await expect(client.turn({ input: 'Hi' })).resolves.toMatchObject({ response: { status: 'completed' } });
    }
    expect(await postJson(`${origin}/v1/responses`, REQUEST, { headers: HEADERS })).toMatchObject({ status: 404 });
    expect(await upgradeOn(port, '/v1/responses')).toBe(404);
  });

  it('a program with a global prefix asks strangers for a key before their body is read', async () => {
    const { port, origin } = await start((program) => program.setGlobalPrefix('api'));
    for (const path of ['/api/v1/responses', '/api/v1/nothing']) {
      const init = { method: 'POST', body: '{"broken', headers: { 'content-type': 'application/json' } };
      expect((await fetch(`${origin}${path}`, init)).status).toBe(401);
    }
    expect(await upgradeOn(port, '/api/v1/responses', {})).toBe(401);
  });

  it('a program with a global prefix has its methods and its hints named', async () => {
    const { origin } = await start((program) => program.setGlobalPrefix('api'));
    const put = await fetch(`${origin}/api/v1/responses`, { method: 'PUT', headers: HEADERS });
    expect([put.status, put.headers.get('allow')]).toEqual([405, 'GET, HEAD, POST']);
    const options = await fetch(`${origin}/api/v1/responses`, { method: 'OPTIONS' });
    expect([options.status, options.headers.get('allow')]).toEqual([204, 'GET, HEAD, POST, OPTIONS']);
    const legacy = await postJson(`${origin}/api/v1/completions`, REQUEST, { headers: HEADERS });
    expect(legacy.body).toMatchObject({ error: { message: expect.stringContaining('/api/v1/responses') as unknown } });
  });

  it('a program with a global prefix may exclude the API, and sockets stay with it', async () => {
    const exclude = [{ path: '{*api}', method: RequestMethod.ALL }];
    const { port, origin } = await start((program) => program.setGlobalPrefix('api', { exclude }));
    expect(await postJson(`${origin}/v1/responses`, REQUEST, { headers: HEADERS })).toMatchObject({ status: 200 });
    await using client = await SocketClient.open({ port }, { headers: HEADERS });
    await expect(client.turn({ input: 'Hi' })).resolves.toMatchObject({ response: { status: 'completed' } });
    expect(await upgradeOn(port, '/api/v1/responses')).toBe(404);
  });
});

describe('a program with a route that looks like the API', () => {
  it('a program keeps a route for itself that looks like the API', async () => {
    const { port, origin } = await start(() => undefined);
    const answer = await fetch(`${origin}/mine/v1/responses`, { method: 'POST' });
    expect([answer.status, await answer.text()]).toEqual([201, 'mine']);
    expect(await upgradeOn(port, '/mine/v1/responses')).toBe(404);
  });

  it('a program keeps a route for itself below the other prefix of the API', async () => {
    const { origin } = await start(() => undefined);
    const answer = await fetch(`${origin}/openai/v1/mine`, { method: 'POST', headers: HEADERS });
    expect([answer.status, await answer.text()]).toEqual([201, 'mine too']);
  });
});

describe('a program on another HTTP library', () => {
  it('a program on another HTTP library is told of createAdapter()', async () => {
    class OtherAdapter extends FastifyAdapter {
      override getType(): string {
        return 'express';
      }
    }
    const other: INestApplication = await NestFactory.create(ProgramModule, new OtherAdapter(), { logger: false });
    await expect(configureApp(other as NestFastifyApplication)).rejects.toThrow(
      "this application on express. Create it with antiphon's adapter: NestFactory.create(AppModule, createAdapter()).",
    );
    await other.close();
  });
});
