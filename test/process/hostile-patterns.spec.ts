import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { endProcesses, type ServiceProcess, startProcess } from '../support/process-service.js';

/** Takes a backtracking matcher longer than anybody lives. */
const PATTERN = '^(a+)+$';
const TEXT = `${'a'.repeat(60)}b`;

describe('a pattern that takes for ever to match', () => {
  // A process of its own, because a service that hangs would take the test along.
  let service: ServiceProcess;

  beforeAll(async () => {
    service = await startProcess();
  });

  afterAll(endProcesses);

  it.each([
    ['beside a const', { const: TEXT, pattern: PATTERN }],
    ['beside an enum', { type: 'string', enum: [TEXT], pattern: PATTERN }],
    ['beside another pattern', { allOf: [{ type: 'string', pattern: '^a{60}b$' }, { pattern: PATTERN }] }],
    ['of property names', { properties: { [TEXT]: {} }, required: [TEXT], propertyNames: { pattern: PATTERN } }],
    ['of properties', { properties: { [TEXT]: {} }, required: [TEXT], patternProperties: { [PATTERN]: {} } }],
  ])('a pattern that takes for ever to match holds nobody up: %s', async (_name, property) => {
    const { client } = service;
    const schema = { type: 'object', properties: { text: property }, required: ['text'] };
    const format = { type: 'json_schema', name: 'hostile', schema };
    const turn = client.post(JSON.stringify({ model: 'gpt-4.1', input: 'Hi', text: { format } }));
    expect((await turn).status).toBeLessThan(500);
    const health = await client.send({ path: '/healthz' });
    expect(health.status).toBe(200);
  });
});
