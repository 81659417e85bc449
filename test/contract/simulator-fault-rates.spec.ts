import { describe, expect, it } from '@jest/globals';

import { FAULT_KINDS } from '../../src/simulator/names.js';
import { useServices } from '../support/describe-service.js';
import { type Service, startService } from '../support/service.js';
import { askFor, BREAKS, deltasOf, REFUSALS_BY_TRANSPORT, STREAMING } from '../support/simulator-requests.js';
import { postJson } from '../support/sse.js';
import { SSE_TRANSPORT } from '../support/transports.js';

describe('SIMULATOR_FAULTS', () => {
  const serviceOf = useServices();
  /** A service in which this befalls every turn. */
  const always = (kind: string): Promise<Service> =>
    serviceOf({ SIMULATOR_FAULTS: `${kind}=1`, SIMULATOR_CONTROL: true });

  it.each(REFUSALS_BY_TRANSPORT)(
    'SIMULATOR_FAULTS refuses every turn on $transport at rate 1: $kind',
    async (fault) => {
      const service = await always(fault.kind);
      const { status, retryAfter, error } = await fault.refuse(service, askFor(''));
      expect([status, error['type']]).toEqual([fault.status, fault.type]);
      expect(retryAfter).toMatch(/^[1-5]$/);
      expect(error['message']).toMatch(new RegExp(` Please try again in ${String(retryAfter)}s\\.$`));
    },
  );

  it.each(BREAKS)('SIMULATOR_FAULTS fails every response after one to ten deltas at rate 1: %s', async (kind) => {
    const service = await always(kind);
    const counts = new Set<number>();
    for (let turn = 0; turn < 12; turn += 1) {
      const transport = STREAMING[turn % 2] ?? SSE_TRANSPORT;
      const { events, response } = await transport.run(service, askFor('', { input: `Tell me story ${turn}.` }));
      expect(response).toMatchObject({ status: 'failed', error: { code: 'server_error' } });
      counts.add(deltasOf(events).length);
    }
    expect(Math.min(...counts)).toBeGreaterThanOrEqual(1);
    expect(Math.max(...counts)).toBeLessThanOrEqual(10);
    expect(counts.size).toBeGreaterThan(3);
  });

  it('SIMULATOR_FAULTS gives way to the fault that a request asks for', async () => {
    const service = await always('rate_limit');
    const { status } = await postJson(`${service.baseURL}/responses`, askFor('fault=unavailable'));
    expect(status).toBe(503);
  });

  it('SIMULATOR_FAULTS takes the kinds that the simulator has, and names them when it gets another', async () => {
    const all = FAULT_KINDS.map((kind) => `${kind}=0.1`).join(',');
    await (await startService({ environment: { SIMULATOR_FAULTS: all } })).close();
    await expect(startService({ environment: { SIMULATOR_FAULTS: 'gremlins=0.1' } })).rejects.toThrow(
      `entries of ${FAULT_KINDS.join(', ')}, shares`,
    );
  });

  it('a fault of SIMULATOR_FAULTS is retried by the official SDK, which waits as long as it is told', async () => {
    const environment = { SIMULATOR_FAULTS: 'rate_limit=0.5' };
    const isRetried = async (service: Service, input: string): Promise<boolean> => {
      const body = { model: 'gpt-4.1', input };
      const first = await postJson(`${service.baseURL}/responses`, body);
      if (first.headers.get('retry-after') !== '1') return false;
      return (await postJson(`${service.baseURL}/responses`, body)).status === 200;
    };
    const inputs: string[] = [];
    await using before = await startService({ environment });
    for (let index = 0; inputs.length < 2; index += 1) {
      if (await isRetried(before, `Tell me story ${index}.`)) inputs.push(`Tell me story ${index}.`);
    }
    await using service = await startService({ environment });
    const statuses: number[] = [];
    const client = service.client({
      maxRetries: 2,
      fetch: async (url, options) => {
        const answer = await fetch(url, options);
        statuses.push(answer.status);
        return answer;
      },
    });
    const [whole, streamed] = await Promise.all([
      client.responses.create({ model: 'gpt-4.1', input: inputs[0] ?? '' }),
      client.responses.stream({ model: 'gpt-4.1', input: inputs[1] ?? '' }).finalResponse(),
    ]);
    expect([whole.status, streamed.status]).toEqual(['completed', 'completed']);
    expect(statuses.toSorted()).toEqual([200, 200, 429, 429]);
  });
});
