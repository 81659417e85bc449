import assert from 'node:assert/strict';

import type { SecretStore } from '../../../state/index.js';
import { part } from '../part.js';

/** The first proposal of a secret counts for everybody. */
export const SECRETS = part('secrets', 'secrets', ({ openOnce, it }) => {
  let secrets: SecretStore;

  openOnce((opened) => {
    ({ secrets } = opened.backend);
  });

  it('secrets are what was proposed first, for everybody', async () => {
    assert.equal(await secrets.getOrCreate('key', 'first'), 'first');
    assert.equal(await secrets.getOrCreate('key', 'second'), 'first');
    assert.equal(await secrets.find('key'), 'first');
  });

  it('secrets are one, however many propose at once', async () => {
    const proposals = Array.from({ length: 20 }, (_, index) => `proposal ${index}`);
    const got = await Promise.all(proposals.map((proposal) => secrets.getOrCreate('contested', proposal)));
    assert.equal(new Set(got).size, 1);
    assert.equal(await secrets.find('contested'), got[0]);
  });

  it('secrets are not there before they are created, and are told apart by their names', async () => {
    assert.equal(await secrets.find('nobody'), undefined);
    assert.equal(await secrets.getOrCreate('another', 'value'), 'value');
    assert.equal(await secrets.find('nobody'), undefined);
  });
});
