export { capabilitiesOf, type Capabilities, type Dialect, DIALECTS, omittedBy } from './capabilities.js';
export * from './chat-completions.provider.js';
export { RESERVED_NAMES } from './request/index.js';
