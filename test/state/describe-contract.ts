import { afterAll, describe, it } from '@jest/globals';

import { stateContract, type StateContractName } from '../../src/testing/index.js';
import { BACKENDS } from './backends.js';

/** Runs the shipped suite on every backend there is, as far as it is about these contracts. */
export function describeContract(...contracts: readonly StateContractName[]): void {
  describe.each(BACKENDS)('$name', (subject) => {
    const groups = stateContract(subject).filter(({ contract }) => contracts.includes(contract));
    describe.each(groups)('$name', ({ cases, close }) => {
      afterAll(close);
      it.each(cases)('$name', ({ run }) => run());
    });
  });
}
