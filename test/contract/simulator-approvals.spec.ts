import { describe, expect, it } from '@jest/globals';

import { startWithScripts } from '../support/script-files.js';
import { STREAMING } from '../support/simulator-requests.js';

const BUY = { server: 'shop', tool: 'buy', arguments: { sku: 1 }, output: 'Bought.', approval: true };
const TURNS = [{ steps: [{ mcp: BUY }, { text: 'Done.' }] }, { text: 'Next.' }];
const PARAM = 'input[0].approval_request_id';

const approve = (id: string): object => ({
  input: [{ type: 'mcp_approval_response', approval_request_id: id, approve: true }],
});

describe.each(STREAMING)('an approval of a scripted call over $name', (transport) => {
  it('an approval that was not asked for, or is answered again, is refused and takes no turn of the script', async () => {
    await using service = await startWithScripts({ 'played.yaml': { turns: TURNS } });
    const run = (body: object) => transport.run(service, { model: 'played', ...body });
    const refusal = async (parent: string, id: string): Promise<unknown> => {
      const body = { model: 'played', previous_response_id: parent, ...approve(id) };
      return service
        .client()
        .responses.create(body as never)
        .catch((error: unknown) => error);
    };
    const asked = await run({ input: 'Buy.' });
    const { id } = (asked.response['output'] as { id: string }[]).at(-1) ?? { id: '' };
    for (const other of ['mcpr_x', id.slice(0, -4), `mcpr_${'0'.repeat(32)}`]) {
      const message = expect.stringContaining(`No approval request found with the id '${other}'.`);
      expect(await refusal(asked.response.id, other)).toMatchObject({ status: 400, param: PARAM, message });
    }
    const bought = await run({ previous_response_id: asked.response.id, ...approve(id) });
    expect(bought.response['output']).toMatchObject([{ type: 'mcp_call', output: 'Bought.' }, { type: 'message' }]);
    const message = expect.stringContaining('was answered before');
    expect(await refusal(bought.response.id, id)).toMatchObject({ status: 400, param: PARAM, message });
    const next = await run({ previous_response_id: bought.response.id, input: 'And now?' });
    expect(next.response['output']).toMatchObject([{ type: 'message', content: [{ text: 'Next.' }] }]);
  });
});
