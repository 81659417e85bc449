import { fileURLToPath } from 'node:url';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { createApp, SimulatorModule } from 'antiphon';

import { WeatherAgent } from './weather-agent.js';

describe('the weather agent', () => {
  let app: NestFastifyApplication;
  let agent: WeatherAgent;

  beforeAll(async () => {
    const script = fileURLToPath(new URL('weather.yaml', import.meta.url));
    const environment = { SIMULATOR_SCRIPTS: script, LOG_LEVEL: 'error' };
    app = await createApp({ environment, imports: [SimulatorModule] });
    await app.listen(0, '127.0.0.1');
    agent = new WeatherAgent(`${await app.getUrl()}/v1`);
  });

  afterAll(() => app.close());

  it('calls its tool, retries after a rate limit, and answers', async () => {
    expect(await agent.answer('How is the weather in Lisbon?')).toBe('It is sunny in Lisbon.');
    expect(agent.asked).toEqual(['Lisbon']);
  });
});
