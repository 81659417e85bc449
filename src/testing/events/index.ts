export * from './event-collector.js';
export { checkEventOrder, type EventOrderOptions } from './event-order.js';
export { readEvents } from './read-events.js';
export { EventOrderError, type WireEvent } from './rule.js';
