import { describe, expect, it } from '@jest/globals';
import { validateSync } from 'class-validator';

import { Environment } from '../../src/config/index.js';
import { SimulatorVariables } from '../../src/simulator/index.js';

describe('readVariables()', () => {
  it.each([
    ['the service', Environment],
    ['the simulator', SimulatorVariables],
  ])('the defaults of the variables of %s are valid: only what is given is checked', (_, type) => {
    expect(validateSync(new type())).toEqual([]);
  });
});
