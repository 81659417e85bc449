/** What a spec imports from `@jest/globals`: of the file that the worker runs now, as modules outlive a file. */
import type * as globals from '@jest/globals';

type Globals = Omit<typeof globals, 'jest'> & {
  jest: Pick<typeof globals.jest, 'fn' | 'spyOn' | 'setTimeout' | 'restoreAllMocks'>;
};

export let afterAll: Globals['afterAll'];
export let afterEach: Globals['afterEach'];
export let beforeAll: Globals['beforeAll'];
export let beforeEach: Globals['beforeEach'];
export let describe: Globals['describe'];
export let expect: Globals['expect'];
export let it: Globals['it'];
export let test: Globals['test'];
export let jest: Globals['jest'];

export function setGlobals(current: Globals): void {
  ({ afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, test, jest } = current);
}
