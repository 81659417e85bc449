import { describe, expect, it } from '@jest/globals';
import { validateSync } from 'class-validator';

import { SimulatorVariables } from '../simulator/index.js';
import { Environment } from './environment.js';

describe('readVariables()', () => {
  it.each([
    ['the service', Environment],
    ['the simulator', SimulatorVariables],
  ])('the defaults of the variables of %s are valid: only what is given is checked', (_, type) => {
    expect(validateSync(new type())).toEqual([]);
  });
});
