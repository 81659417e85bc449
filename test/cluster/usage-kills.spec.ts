// Slow: starts the built service as several processes, and ends them.

import { afterEach, describe, expect, it } from '@jest/globals';

import type { UsagePage } from '../../src/resources/usage/usage-page.js';
import { pause } from '../support/pause.js';
import { endProcesses, type ServiceProcess, startProcess } from '../support/process-service.js';
import { EVERY_STATE } from '../support/state-backends.js';

const TURN = { model: 'gpt-5', input: 'Hi' };

afterEach(endProcesses);

describe.each(EVERY_STATE.filter(({ state }) => state !== 'memory'))(
  'usage with STATE=$state when a process is killed',
  ({ state: kind, open }) => {
    it('usage has every turn whose response its client has when a process is killed', async () => {
      await using state = await open();
      const service = await startProcess({ ...state.environment, SIMULATOR_BACKGROUND_LATENCY: '0/0' });
      let tokens = 0;
      for (let turn = 0; turn < 5; turn += 1) {
        const { text } = await service.client.post(JSON.stringify(TURN));
        tokens += totalOf(JSON.parse(text) as { readonly usage: { readonly total_tokens: number } });
      }
      const { text } = await service.client.post(JSON.stringify({ ...TURN, background: true }));
      tokens += await endOf(service, (JSON.parse(text) as { readonly id: string }).id);
      service.kill('SIGKILL');
      await service.exited;

      const next = await startProcess(state.environment);
      let used = await usageOf(next);
      // Redis has the usage of a background response in the response first. The next process counts it within 40 s.
      while (kind === 'redis' && used.turns === 5) used = await pause().then(() => usageOf(next));
      expect(used).toEqual({ turns: 6, tokens });
    });
  },
);

const totalOf = ({ usage }: { readonly usage: { readonly total_tokens: number } }): number => usage.total_tokens;

/** The tokens of a background response, once it has ended. */
async function endOf({ client }: ServiceProcess, id: string): Promise<number> {
  for (;;) {
    const { text } = await client.send({ path: `/v1/responses/${id}` });
    const response = JSON.parse(text) as { readonly status: string; readonly usage: { readonly total_tokens: number } };
    if (response.status === 'completed') return totalOf(response);
    await pause();
  }
}

async function usageOf({ client }: ServiceProcess): Promise<{ readonly turns: number; readonly tokens: number }> {
  const { text } = await client.send({ path: '/v1/usage' });
  const results = (JSON.parse(text) as UsagePage).data.flatMap((bucket) => bucket.results);
  return {
    turns: results.reduce((sum, { turns }) => sum + turns, 0),
    tokens: results.reduce((sum, { input_tokens, output_tokens }) => sum + input_tokens + output_tokens, 0),
  };
}
