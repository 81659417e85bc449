import type { Case } from '../harness/case.ts';
import { HISTORIED } from './conversations.ts';
import { DOORS } from './doors.ts';
import { PROCESS } from './process.ts';
import { STORED } from './stored.ts';
import { TOOLS } from './tools.ts';
import { TURNS } from './turns.ts';
import { UPSTREAMS } from './upstreams.ts';
import { VECTOR_SEARCH } from './vector-search.ts';

/** All cases, in execution order. */
export const CASES: readonly Case[] = [
  ...TURNS,
  ...DOORS,
  ...UPSTREAMS,
  ...HISTORIED,
  ...TOOLS,
  ...STORED,
  ...VECTOR_SEARCH,
  ...PROCESS,
];
