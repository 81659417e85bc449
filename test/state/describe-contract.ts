import { afterAll, describe, it } from '@jest/globals';

import { stateContract, type StateContractName } from '../../src/testing/index.js';
import { BACKENDS, type TestedBackend } from './backends.js';

/** Runs the shipped suite on every backend there is, as far as it is about these contracts. */
export function describeContract(...contracts: readonly StateContractName[]): void {
  describeContractOf(BACKENDS, ...contracts);
}

/** Runs the shipped suite on some backends, as far as it is about these contracts. */
export function describeContractOf(
  backends: readonly TestedBackend[],
  ...contracts: readonly StateContractName[]
): void {
  describe.each(backends)('$name', (subject) => {
    const groups = stateContract(subject).filter(({ contract }) => contracts.includes(contract));
    describe.each(groups)('$name', ({ cases, close }) => {
      afterAll(close);
      it.each(cases)('$name', ({ run }) => run());
    });
  });
}
