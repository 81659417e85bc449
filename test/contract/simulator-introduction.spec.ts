import { describe, expect, it } from '@jest/globals';

import { introductionFor } from '../../src/simulator/index.js';
import { SimulatorModule } from '../../src/index.js';
import { useService } from '../support/describe-service.js';

const TEXT = 'I am simulated.';
const BODY = { model: 'gpt-5', input: 'Hello!' };

describe('the introduction of the simulator', () => {
  const service = useService({ providers: [], imports: [SimulatorModule.asFallback({ introduction: TEXT })] });

  it('the introduction of the simulator is its first answer in free text, and none after it', async () => {
    const client = service.client();
    const format = { type: 'json_object' } as const;
    const tools = [{ type: 'function' as const, name: 'act', parameters: null, strict: false }];
    const others = [
      await client.responses.create({ ...BODY, input: 'Hello in JSON!', text: { format } }),
      await client.responses.create({ ...BODY, tools }),
    ];
    for (const { output_text: text } of others) expect(text).not.toBe(TEXT);
    expect((await client.responses.create(BODY)).output_text).toBe(TEXT);
    const [first, second] = [await client.responses.create(BODY), await client.responses.create(BODY)];
    expect(first.output_text).not.toBe(TEXT);
    expect(second.output_text).toBe(first.output_text);
  });

  it('the introduction of the simulator is left out when anything of the simulator is chosen', () => {
    expect(introductionFor({ PORT: '1', SIMULATOR_SEED: '' })).toContain('PROVIDERS_FILE');
    for (const name of ['SIMULATOR_GENERATOR', 'SIMULATOR_SEED', 'SIMULATOR_SCRIPTS']) {
      expect(introductionFor({ [name]: '1' })).toBeNull();
    }
  });
});
