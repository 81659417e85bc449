import { jest } from '@jest/globals';

import { SessionGate } from '../../src/resources/sessions/index.js';
import type { Service } from '../support/service.js';

/** Resolves when the next one asks this service for a session: from then on it waits while somebody else has it. */
export function whenAsked({ app }: Service): Promise<void> {
  const gate = app.get(SessionGate);
  const hold = gate.hold.bind(gate);
  return new Promise((resolve) => {
    const spy = jest.spyOn(gate, 'hold').mockImplementation((...names) => {
      spy.mockRestore();
      const holding = hold(...names);
      resolve();
      return holding;
    });
  });
}
