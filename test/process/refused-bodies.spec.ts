import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { endProcesses, type ServiceProcess, startProcess } from '../support/process-service.js';
import { findErrorFault } from '../support/raw-checks.js';

const MEGABYTE = 1024 * 1024;
const LARGE = Buffer.alloc(20 * MEGABYTE, 'x');
const API_KEYS = 'tenant:right';

// Against a process of its own: a service that shares our event loop reads what we send before it closes.
describe('a large body that is refused', () => {
  let service: ServiceProcess;

  beforeAll(async () => {
    service = await startProcess({ HOST: '127.0.0.1', API_KEYS, BODY_LIMIT_BYTES: String(MEGABYTE) });
  });

  afterAll(endProcesses);

  it.each([
    ['for its size', 'right', 413],
    ['for its key', 'wrong', 401],
  ])('%s: the client always gets to read why', async (_name, key, status) => {
    for (let count = 0; count < 5; count += 1) {
      const response = await fetch(`${service.origin}/v1/responses`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
        body: LARGE,
      });
      expect(response.status).toBe(status);
      expect(findErrorFault(await response.text())).toBeUndefined();
    }
  });
});
