export {
  type FileSearchParam,
  type HostedCall,
  type HostedTool,
  HostedToolTurn,
  hostedToolsOf,
  isOwnFileSearch,
  isOwnStoreId,
  QUERIES,
  queriesIn,
  toFunction,
  toHidden,
} from './hosted-tool-turn.js';
export { toEvent } from './run-calls.js';
export { CITE, quote, Sources } from './sources.js';
