import { describe, expect, it } from '@jest/globals';

import { readText } from './pages.js';

/** What only programs and their tests import. */
const OF_PROGRAMS = ['@nestjs/testing', '@types/ws', 'openai'];

describe('the packages that are optional to install', () => {
  it('docs/deployment.md names every package that is optional to install, in one table', () => {
    const { peerDependenciesMeta } = JSON.parse(readText('package.json')) as {
      readonly peerDependenciesMeta: Readonly<Record<string, unknown>>;
    };
    const [, section = ''] = /^## Packages\n([^]*?)^## /m.exec(readText('docs/deployment.md')) ?? [];
    const rows = section.split('\n').filter((line) => line.startsWith('| '));
    const named = rows.flatMap((row) => (row.split(' | ')[1] ?? '').match(/`[^`]+`/g) ?? []);
    const packages = named.flatMap((text) => text.slice(1, -1).split(' '));
    const optional = Object.keys(peerDependenciesMeta).filter((name) => !OF_PROGRAMS.includes(name));
    expect(new Set(packages.filter((name) => !name.startsWith('/')))).toEqual(new Set(optional));
  });
});
