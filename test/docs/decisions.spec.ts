import { describe, expect, it } from '@jest/globals';

import { filesBelow, readText } from './pages.js';

const INDEX = 'docs/decisions/README.md';
const DECISIONS = filesBelow('docs/decisions', '.md').filter((path) => path !== INDEX);

describe.each(DECISIONS)('%s', (path) => {
  const [, status] = /^Status: (accepted|superseded by \[.+?\]\(.+?\.md\))/m.exec(readText(path)) ?? [];

  it('a decision says its status', () => {
    expect(status).toBeDefined();
  });

  it('a decision is in the list of decisions with its status', () => {
    const file = path.replace('docs/decisions/', '');
    const row = readText(INDEX)
      .split('\n')
      .find((line) => line.includes(`](${file}) |`));
    expect(row).toContain(status);
  });
});
