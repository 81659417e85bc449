import { afterEach, describe, expect, it } from '@jest/globals';

import { endProcesses, type ServiceProcess, startProcess } from '../support/process-service.js';
import { withScriptFiles } from '../support/script-files.js';

const LONG = 'a'.repeat(50_000);
const EVIL = { when: { matches: '^(a+)+$' }, text: 'evil' };

/** A process of its own, because a service that hangs would take the test along. */
function play(...turns: readonly object[]): Promise<ServiceProcess> {
  return withScriptFiles({ 'evil.yaml': { match: 'last_user_message', turns } }, ([path = '']) =>
    startProcess({ SIMULATOR_SCRIPTS: path }),
  );
}

afterEach(endProcesses);

describe('a regular expression in a script that takes for ever to match', () => {
  it.each([
    ['the turn for everything else answers', [EVIL, { text: 'other' }], 200, { output_text: 'other' }],
    ['the request is refused', [EVIL], 400, { error: { code: 'script_exhausted' } }],
    ['so do many of them', [...Array<object>(50).fill(EVIL), { text: 'other' }], 200, { output_text: 'other' }],
  ])(
    'a regular expression in a script that takes for ever to match holds nobody up: %s',
    async (_name, turns, status, body) => {
      const { client } = await play(...turns);
      const answer = client.post(JSON.stringify({ model: 'evil', input: `${LONG}b` }));
      expect((await answer).status).toBe(status);
      expect(JSON.parse((await answer).text)).toMatchObject(body);
      expect((await client.send({ path: '/healthz' })).status).toBe(200);
    },
  );

  it('a regular expression in a script still matches the long messages that it can match', async () => {
    const { client } = await play(EVIL, { text: 'other' });
    const answer = await client.post(JSON.stringify({ model: 'evil', input: LONG }));
    expect(JSON.parse(answer.text)).toMatchObject({ output_text: 'evil' });
  });
});
