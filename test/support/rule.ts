/** What the checks of `antiphon/testing` are made of. */
export { isSameJson, requireRule, type WireEvent } from '../../src/testing/events/rule.js';
