import { describe, expect, it } from '@jest/globals';

import { ScriptedProvider } from '../../src/testing/index.js';
import { startService } from '../support/service.js';
import { EVERY_STATE } from '../support/state-backends.js';
import { resultsOf } from '../support/usage.js';

describe.each(EVERY_STATE.filter(({ state }) => state !== 'memory'))(
  'usage after a restart with STATE=$state',
  ({ open }) => {
    it('usage after a restart has the turns that waited when the service was shut down', async () => {
      await using state = await open();
      const options = { providers: [ScriptedProvider], environment: state.environment };
      {
        await using service = await startService(options);
        await service.client().responses.create({ model: 'scripted', input: 'Hi' });
      }
      await using service = await startService(options);
      expect(await resultsOf(service, 1)).toHaveLength(1);
    });
  },
);
