import { describe, expect, it } from '@jest/globals';

import { Environment } from '../../src/config/index.js';
import { WriteGate } from '../../src/state/locks/index.js';
import { SessionGate } from '../../src/resources/sessions/index.js';
import { MemoryBackend } from '../../src/state/memory/backend.js';
import { FakeClock } from '../../src/testing/index.js';
import { newTenant, recordOf } from '../../src/testing/state/records.js';

const tenant = newTenant();

describe('the gate of sessions', () => {
  /** A gate in front of a session `full` with one response. */
  const open = (SESSION_MAX_RESPONSES: number): SessionGate => {
    const [clock, environment] = [new FakeClock(), Object.assign(new Environment(), { SESSION_MAX_RESPONSES })];
    const { locks, sessions, responses } = new MemoryBackend(environment, clock);
    void responses.save(tenant, recordOf('a', { sessionId: 'full' }));
    return new SessionGate(new WriteGate(clock, environment), locks, sessions, environment);
  };

  it('the gate of sessions refuses a full session', async () => {
    const refusal = open(1).refuseWhenFull(tenant, 'full', 'session_id');
    await expect(refusal).rejects.toMatchObject({ status: 400, code: 'session_limit_reached', param: 'session_id' });
    await expect(open(2).refuseWhenFull(tenant, 'full', 'session_id')).resolves.toBeUndefined();
  });

  it('the gate of sessions has nothing to wait for where sessions have no limit', () => {
    const answer = (): unknown => open(0).refuseWhenFull(tenant, 'full', 'session_id');
    expect(answer()).toBeUndefined();
  });
});
