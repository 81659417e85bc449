import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import OpenAI from 'openai';

import { AntiphonModule, configureApp, createAdapter } from '../../src/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { WeatherTool } from '../support/weather-tool.js';

@Module({ imports: [AntiphonModule.forRoot({ providers: [ScriptedProvider] })], providers: [WeatherTool] })
class AppModule {}

describe('the tool of docs/extending.md, in an application of its own', () => {
  const station = createServer((request, response) => {
    void text(request).then((asked) => response.end(`sunny for ${asked}`));
  });
  let app: NestFastifyApplication;
  let client: OpenAI;

  beforeAll(async () => {
    await once(station.listen(0, '127.0.0.1'), 'listening');
    process.env['WEATHER_URL'] = `http://127.0.0.1:${(station.address() as AddressInfo).port}`;
    app = await NestFactory.create<NestFastifyApplication>(AppModule, createAdapter(), { logger: false });
    await configureApp(app);
    await app.listen(0, '127.0.0.1');
    client = new OpenAI({ apiKey: 'unused', baseURL: `${await app.getUrl()}/v1`, maxRetries: 0 });
  });

  afterAll(async () => {
    delete process.env['WEATHER_URL'];
    await app.close();
    station.close();
  });

  it('answers the calls of a model, which goes on in the same response', async () => {
    const provider = app.get(ScriptedProvider);
    provider
      .reply(
        ...['Lisbon', 'Porto'].flatMap((city) => [
          { type: 'function_call', name: 'get_weather', key: city } as const,
          { type: 'function_call_arguments', delta: `{"city":"${city}"}`, key: city } as const,
        ]),
      )
      .reply({ type: 'text', delta: 'Sunny in both.' });
    const stream = client.responses.stream({ model: 'm', input: 'How is the weather?' });
    const { output_text: said, output } = await stream.finalResponse();
    expect(said).toBe('Sunny in both.');
    expect(output.map(({ type }) => type)).toEqual(['function_call', 'function_call', 'message']);
    expect(provider.turns[1]?.input).toMatchObject([
      { output: 'sunny for {"city":"Lisbon"}' },
      { output: 'sunny for {"city":"Porto"}' },
    ]);
  });
});
