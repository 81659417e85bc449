import type { Sizes } from './cases/benchmark-case.ts';

/** The sizes of the README. */
export const FULL: Sizes = {
  streams: 100,
  mostStreams: 2048,
  deltas: 200,
  pacedDeltas: 64,
  chain: 500,
  agents: 8,
  saves: 2000,
  requests: 300,
  jsonRequests: 5000,
  countedTurns: 500,
  validations: 400,
  idleSockets: 5000,
  starts: 5,
  rounds: 11,
  longRounds: 5,
  warmUps: 2,
  turnsPerStream: 5,
  soakSeconds: 600,
};

/** Short runs of every case. */
export const QUICK: Sizes = {
  ...FULL,
  streams: 30,
  mostStreams: 32,
  deltas: 50,
  pacedDeltas: 8,
  chain: 50,
  agents: 4,
  saves: 100,
  requests: 30,
  jsonRequests: 200,
  countedTurns: 100,
  validations: 50,
  idleSockets: 2000,
  starts: 1,
  rounds: 3,
  longRounds: 1,
  warmUps: 1,
  turnsPerStream: 1,
  soakSeconds: 3,
};

/** Checks that every case works. Figures are meaningless. */
export const SMALLEST: Sizes = {
  streams: 4,
  mostStreams: 32,
  deltas: 8,
  pacedDeltas: 4,
  chain: 50,
  agents: 1,
  saves: 64,
  requests: 8,
  jsonRequests: 64,
  countedTurns: 20,
  validations: 4,
  idleSockets: 100,
  starts: 1,
  rounds: 1,
  longRounds: 1,
  warmUps: 0,
  turnsPerStream: 1,
  soakSeconds: 1,
};
