/** The checker that `antiphon/testing` offers. */
export { checkEventOrder, type EventOrderOptions } from '../../src/testing/index.js';
