import { describe, expect, it } from '@jest/globals';

import { isInstalled } from './require-packages.js';

describe('isInstalled()', () => {
  it('a package is found missing also in Jest, which reports that in its own way', () => {
    expect([isInstalled('fastify'), isInstalled('a-package-that-nobody-has')]).toEqual([true, false]);
  });
});
