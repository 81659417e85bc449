import { describe, expect, it } from '@jest/globals';

import { ServiceLog } from '../support/service-log.js';
import { useService } from '../support/describe-service.js';
import { startService } from '../support/service.js';
import { TRANSPORTS } from '../support/transports.js';

const LIMITED = { status: 429 };

describe.each(TRANSPORTS)('faults that come and go ($name)', (transport) => {
  const service = useService({ environment: { SIMULATOR_CONTROL: true, SIMULATOR_FAULTS: 'rate_limit=1' } });

  const ask = (input: string, control: string): Promise<unknown> =>
    transport.run(service, { model: 'gpt-4.1', input, client_metadata: { 'x-simulate': control } });

  it('faults with times befall a request as often as asked, and each request for itself', async () => {
    const control = 'fault=rate_limit; times=2';
    for (const input of ['Once.', 'Again.']) {
      await expect(ask(input, control)).rejects.toMatchObject(LIMITED);
      await expect(ask(input, control)).rejects.toMatchObject(LIMITED);
      await expect(ask(input, control)).resolves.toMatchObject({ response: { status: 'completed' } });
    }
  });

  it('times bound the faults of the configuration as well', async () => {
    await expect(ask('Bounded.', 'times=1')).rejects.toMatchObject(LIMITED);
    await expect(ask('Bounded.', 'times=1')).resolves.toMatchObject({ response: { status: 'completed' } });
  });

  it('configured faults spare the request that asks for none', async () => {
    await expect(ask('Spare me.', '')).rejects.toMatchObject(LIMITED);
    await expect(ask('Spare me.', 'fault=none')).resolves.toMatchObject({ response: { status: 'completed' } });
  });

  it('faults that come and go are counted with a seed of their own, too', async () => {
    const control = 'seed=3; fault=rate_limit; times=1';
    await expect(ask('Seeded.', control)).rejects.toMatchObject(LIMITED);
    await expect(ask('Seeded.', control)).resolves.toMatchObject({ response: { status: 'completed' } });
  });
});

it('a fault that comes once lets the SDK succeed on its second try', async () => {
  await using service = await startService({ environment: { SIMULATOR_CONTROL: true } });
  const defaultHeaders = { 'x-simulate': 'fault=rate_limit; times=1; retry_after=0' };
  const { data, response } = await service
    .client({ maxRetries: 1, defaultHeaders })
    .responses.create({ model: 'gpt-4.1', input: 'Go on.' })
    .withResponse();
  expect(data.status).toBe('completed');
  expect(response.status).toBe(200);
});

it('the operator is told, once, when the header x-simulate is not listened to', async () => {
  await using service = await startService();
  using log = ServiceLog.begin();
  const client = service.client({ defaultHeaders: { 'x-simulate': 'fault=rate_limit' } });
  for (const input of ['Go on.', 'And on.']) {
    await expect(client.responses.create({ model: 'gpt-4.1', input })).resolves.toMatchObject({ status: 'completed' });
  }
  expect(log.complaints).toEqual([expect.stringContaining('SIMULATOR_CONTROL=true')]);
});
