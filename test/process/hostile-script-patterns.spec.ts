import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { endProcesses, type ServiceProcess, startProcess } from '../support/process-service.js';
import { type ScriptContent, withScriptFiles } from '../support/script-files.js';

const LONG = 'a'.repeat(50_000);
const EVIL = { when: { matches: '^(a+)+$' }, text: 'evil' };
const OTHER = { text: 'other' };

const SCRIPTS = {
  'one.yaml': [EVIL, OTHER],
  'alone.yaml': [EVIL],
  'many.yaml': [...Array<object>(50).fill(EVIL), OTHER],
};

describe('a regular expression in a script that takes for ever to match', () => {
  // A process of its own, because a service that hangs would take the test along.
  let service: ServiceProcess;

  beforeAll(async () => {
    const files = Object.entries(SCRIPTS).map(([name, turns]) => [name, { match: 'last_user_message', turns }]);
    service = await withScriptFiles(Object.fromEntries(files) as Record<string, ScriptContent>, (paths) =>
      startProcess({ SIMULATOR_SCRIPTS: paths.join() }),
    );
  });

  afterAll(endProcesses);

  it.each([
    ['the turn for everything else answers', 'one', 200, { output_text: 'other' }],
    ['the request is refused', 'alone', 400, { error: { code: 'script_exhausted' } }],
    ['so do many of them', 'many', 200, { output_text: 'other' }],
  ])(
    'a regular expression in a script that takes for ever to match holds nobody up: %s',
    async (_name, model, status, body) => {
      const { client } = service;
      const answer = client.post(JSON.stringify({ model, input: `${LONG}b` }));
      expect((await answer).status).toBe(status);
      expect(JSON.parse((await answer).text)).toMatchObject(body);
      expect((await client.send({ path: '/healthz' })).status).toBe(200);
    },
  );

  it('a regular expression in a script still matches the long messages that it can match', async () => {
    const answer = await service.client.post(JSON.stringify({ model: 'one', input: LONG }));
    expect(JSON.parse(answer.text)).toMatchObject({ output_text: 'evil' });
  });
});
