import { expect } from '@jest/globals';

import { BodyBudget } from '../../src/http/bodies/index.js';
import type { Service } from './service.js';

export const MEGABYTE = 1024 * 1024;

/** Bytes that the bodies and messages of a service hold. */
export function heldBy({ app }: Pick<Service, 'app'>): number {
  return app.get(BodyBudget).bytes;
}

/** Waits for what happens in the service. Throws when the test is over. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const { currentTestName } = expect.getState();
  while (!(await condition())) {
    if (expect.getState().currentTestName !== currentTestName) throw new Error('the test is over');
    await new Promise((resolve) => setImmediate(resolve));
  }
}
