export { type JournalEntry } from './journal.js';
export { faultSchema, lastUserText, Space, type SpaceFault, type SpaceScript, toolNames } from './space.js';
export { JournalObserver, SPACE_HEADER, Spaces } from './spaces.js';
