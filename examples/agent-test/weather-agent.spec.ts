import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { call, fail, simulate, type Simulation, text } from 'antiphon/testing';

import { WeatherAgent } from './weather-agent.js';

describe('the weather agent', () => {
  let sim: Simulation;

  beforeAll(async () => {
    sim = await simulate();
  });
  beforeEach(() => sim.reset());
  afterAll(() => sim.close());

  it('calls its tool, retries after a rate limit, and answers', async () => {
    sim.answer(
      call('get_weather', { city: 'Lisbon' }),
      fail({ kind: 'rate_limit', retry_after: 0 }),
      text('It is sunny in Lisbon.'),
    );
    const agent = new WeatherAgent(sim.url);
    expect(await agent.answer('How is the weather in Lisbon?')).toBe('It is sunny in Lisbon.');
    expect(agent.asked).toEqual(['Lisbon']);
    expect(sim.requests.map(({ status }) => status)).toEqual(['completed', 'refused', 'completed']);
    expect(sim.last.input).toContainEqual(
      expect.objectContaining({ type: 'function_call_output', output: 'sunny, 24 °C' }),
    );
  });
});
