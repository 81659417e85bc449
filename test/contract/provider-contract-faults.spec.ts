import { describe, expect, it } from '@jest/globals';

import { providerContract, type ProviderSubject } from '../../src/testing/index.js';
import { ListeningProvider } from './listening.provider.js';
import { PROVIDER_FAULTS } from './provider-faults.js';
import { SERVICE_FAULTS } from './provider-service-faults.js';

const FAULTS = [...PROVIDER_FAULTS, ...SERVICE_FAULTS];

const everything: ProviderSubject = {
  options: () => ({ providers: [ListeningProvider] }),
  model: 'any',
  hanging: () => ({}),
  failing: {},
};

describe('the contract of providers', () => {
  it.each(FAULTS)('the contract of providers notices what $what: $notices', async ({ notices, says, subject }) => {
    const found = providerContract(subject).find(({ name }) => name === notices);
    await expect(found?.run()).rejects.toThrow(says);
  });

  it('every case of the contract of providers has a fault', () => {
    const noticed = new Set(FAULTS.map(({ notices }) => notices));
    const names = providerContract(everything).map(({ name }) => name);
    expect(names.filter((name) => !noticed.has(name))).toEqual([]);
  });
});
