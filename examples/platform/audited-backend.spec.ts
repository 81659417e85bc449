import { afterAll, describe, it } from '@jest/globals';
import { Environment } from 'antiphon';
import { FakeClock, stateContract } from 'antiphon/testing';

import { AuditedBackend } from './audited-backend.js';

const groups = stateContract({
  open: async () => {
    const clock = new FakeClock();
    const backend = new AuditedBackend(new Environment(), clock);
    await backend.start();
    return { backend, clock, content: async () => backend.bytes, close: () => backend.stop() };
  },
  without: ['limits', 'usage', 'transfer', 'files', 'vectors', 'vectorStores'],
});

for (const { name: group, cases, close } of groups) {
  describe(group, () => {
    afterAll(close);

    for (const { name, run } of cases) it(name, run);
  });
}
