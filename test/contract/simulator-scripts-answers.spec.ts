import { describe, expect, it } from '@jest/globals';

import { useService } from '../support/describe-service.js';
import { type ScriptFiles, startWithScripts } from '../support/script-files.js';
import { TRANSPORTS } from '../support/transports.js';
import { message, outputText } from './parity-turn.js';
import { ANSWERS, call } from './scripted-answers.js';

describe.each(TRANSPORTS)('a turn of a script over $name', (transport) => {
  const service = useService(async () => {
    const endings = ['yaml', 'json', 'jsonl'];
    const files = ANSWERS.map(({ turn }, index) => [`answer-${index}.${endings[index % 3] ?? ''}`, { turns: [turn] }]);

    return startWithScripts(Object.fromEntries(files) as ScriptFiles);
  });

  it.each(ANSWERS.map((answer, index) => ({ ...answer, model: `answer-${index}` })))(
    'a turn of a script says $name',
    async ({ model, body, expected, deltas }) => {
      const { response, events } = await transport.run(service, { model, input: 'Go on.', ...body });
      expect(response).toMatchObject({ model, ...expected });
      if (events === undefined || deltas === undefined) return;
      const streamed = events.filter(({ type }) => type.endsWith('.delta'));
      expect(streamed.map(({ type, delta }) => [type.split('.')[1], delta])).toEqual(deltas);
    },
  );
});

describe.each(['yaml', 'yml', 'json', 'jsonl'])('a script in a file that ends in .%s', (ending) => {
  const turns = [{ text: 'One.' }, { calls: [{ name: 'look', arguments: { far: true } }] }, { text: ['Three', '.'] }];

  it('a script in a file is played as a whole on every transport', async () => {
    const name = `whole.${ending}`;
    await using service = await startWithScripts({ [name]: { on_exhausted: 'loop', turns } });
    for (const transport of TRANSPORTS) {
      const outputs = [];
      for (const input of ['a', 'b', 'c']) {
        outputs.push((await transport.run(service, { model: 'whole', input })).response['output']);
      }
      expect(outputs).toMatchObject([
        [message(outputText('One.'))],
        [call({ name: 'look', arguments: '{"far":true}' })],
        [message(outputText('Three.'))],
      ]);
    }
  });
});

describe('a script in JSON Lines', () => {
  it.each([
    ['needs no settings', '{"text":"One."}\n{"text":"Two."}'],
    ['may have empty lines', '\n{"text":"One."}\n\n  \n{"text":"Two."}\n\n'],
    ['may come from Windows', '{"settings":{"model":"lines"}}\r\n{"text":"One."}\r\n{"text":"Two."}\r\n'],
  ])('a script in JSON Lines %s', async (_name, text) => {
    await using service = await startWithScripts({ 'lines.jsonl': text });
    for (const expected of ['One.', 'Two.', 'Two.']) {
      const response = await service.client().responses.create({ model: 'lines', input: 'Go on.' });
      expect(response.output_text).toBe(expected);
    }
  });
});
