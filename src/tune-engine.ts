import { setFlagsFromString } from 'node:v8';

/**
 * V8 puts objects that have often lived long into the old generation at once, with all that they refer to. The first slow turns would
 * decide that for every later one: all turns would stay until the next full collection, at a third more CPU and twice the memory.
 */
setFlagsFromString('--no-allocation-site-pretenuring');
