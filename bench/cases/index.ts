import type { Case } from '../harness/case.ts';
import { HISTORIED } from './conversations.ts';
import { DOORS } from './doors.ts';
import { PAUSES } from './pauses.ts';
import { PROCESS } from './process.ts';
import { STORED } from './stored.ts';
import { TOOLS } from './tools.ts';
import { TURNS } from './turns.ts';
import { UPSTREAMS } from './upstreams.ts';

/** All cases, in execution order. */
export const CASES: readonly Case[] = [
  ...[...TURNS, ...DOORS, ...UPSTREAMS, ...HISTORIED, ...TOOLS, ...STORED, ...PAUSES, ...PROCESS],
];
