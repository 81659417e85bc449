import { describe, expect, it } from '@jest/globals';

import {
  expectLine,
  faultsOfFiles,
  type ScriptContent,
  type ScriptFiles,
  startFaultsOf,
  withScriptFiles,
} from '../support/script-files.js';
import { startService } from '../support/service.js';

/** A YAML file of a few hundred bytes that is ten billion values long. */
const ALIAS_BOMB = `a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n${Array.from({ length: 9 }, (_, level) => {
  return `a${level + 1}: &a${level + 1} [${Array<string>(10).fill(`*a${level}`).join(', ')}]\n`;
}).join('')}turns: *a9\n`;

/** Files that are not what their ending says, and the place of the fault as the line has to name it. */
const UNREADABLE: readonly (readonly [what: string, name: string, content: string, place: RegExp])[] = [
  ['broken YAML', 'broken.yaml', 'turns:\n  - text: one\n   - text: two\n', /line 3/],
  ['a list in YAML that does not end', 'broken.yml', 'turns: [{ text: one }\n', /line [12]/],
  ['a YAML key that comes twice', 'broken.yaml', 'turns: []\nturns: []\n', /unique.*line 2/i],
  ['an alias of nothing', 'broken.yaml', 'turns: *nothing\n', /nothing/],
  ['a bomb of aliases', 'bomb.yaml', ALIAS_BOMB, /alias/i],
  ['two YAML documents', 'broken.yaml', 'turns: []\n---\nturns: []\n', /document/],
  ['short broken JSON', 'broken.json', '{\n  "turns": [x]\n}', /^turns\[0\] must be an object/],
  [
    'long broken JSON',
    'broken.json',
    `{\n  "turns": [{"text": "${'long '.repeat(40)}"}, x\n]}`,
    /^turns\[1\] must be an object/,
  ],
  ['JSON that does not end', 'broken.json', '{"turns": [', /line 1|end of JSON/],
  ['a broken line', 'broken.jsonl', '{"text":"one"}\n\n{"text":"two"\n{"text":"three"}', /line 3/],
  ['settings with something beside them', 'broken.jsonl', '{"settings":{},"timing":"now"}\n{"text":"one"}', /^timing /],
  ['settings with an unknown member', 'broken.jsonl', '{"settings":{"time":"none"}}\n{"text":"one"}', /time/],
  ['a broken last line', 'broken.jsonl', '{"text":"one"}\n{"te', /line 2/],
];

describe('a file of a script that cannot be read', () => {
  it('a file of a script stops the start when it is not there', async () => {
    const environment = { SIMULATOR_SCRIPTS: '/nowhere/missing.yaml' };
    const lines = await startFaultsOf(startService({ environment }));
    expectLine(lines, 'missing.yaml', /no such file/);
  });

  it('a file of a script stops the start when it is a directory', async () => {
    const lines = await withScriptFiles({}, (_paths, directory) =>
      startFaultsOf(startService({ environment: { SIMULATOR_SCRIPTS: directory } })),
    );
    expect(lines).toEqual([expect.stringMatching(/^SIMULATOR_SCRIPTS: \/.+antiphon-scripts-\w+: .*directory.*\.$/)]);
  });

  it.each(['empty.yaml', 'empty.json', 'empty.jsonl', 'empty'])(
    'a file of a script stops the start when it is empty: %s',
    async (name) => {
      expectLine(await faultsOfFiles({ [name]: '' }), name, /turns|must be an object|end of JSON/);
    },
  );

  it.each(UNREADABLE)(
    'a file of a script stops the start with a line that names the place: %s in %s',
    async (_what, name, text, place) => {
      expectLine(await faultsOfFiles({ [name]: text }), name, place);
    },
  );
});

describe('scripts with the same model', () => {
  const script = (more: object = {}): ScriptContent => ({ ...more, turns: [{ text: 'x' }] });

  it.each<readonly [string, ScriptFiles, string]>([
    ['by their names', { 'twin.yaml': script(), 'twin.json': script() }, 'twin'],
    ['by one of their names', { 'twin.yaml': script(), 'other.json': script({ model: 'twin' }) }, 'twin'],
    ['for every name', { 'a.yaml': script({ model: '*' }), 'b.yaml': script({ model: '*' }) }, '*'],
  ])(
    'scripts with the same model stop the start with a line that names the model and the files: %s',
    async (_name, files, model) => {
      const lines = await faultsOfFiles(files);
      expect(lines).toHaveLength(1);
      expect(lines[0]).toContain(`'${model}'`);
      for (const file of Object.keys(files)) expect(lines[0]).toContain(file);
    },
  );

  it('scripts with the same model give a line for each model', async () => {
    const names = ['a', 'b', 'c'];
    const files = names.flatMap((model) => [1, 2].map((copy) => [`${model}${copy}.yaml`, script({ model })]));
    const lines = await faultsOfFiles(Object.fromEntries(files) as ScriptFiles);
    expect(lines).toHaveLength(names.length);
  });
});
