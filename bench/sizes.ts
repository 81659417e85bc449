/** The sizes of a full run, of one with `--quick`, and of one with `--smallest`. Each has an option: `--paced-deltas 8`. */
const SIZES = {
  /** Concurrent streams. */
  streams: [100, 30, 2],
  /** Most concurrent streams, if a case tries several numbers. */
  mostStreams: [2048, 32, 32],
  /** Text deltas per answer, if the case sets none. */
  deltas: [200, 50, 8],
  /** Text deltas per background answer at the pace of a model. */
  pacedDeltas: [64, 8, 2],
  /** Most concurrent streams at the pace of a model. */
  pacedStreams: [512, 128, 32],
  /** Turns before memory is measured. */
  memoryTurns: [100_000, 5000, 32],
  /** Rest after them before memory is measured again, s. */
  restSeconds: [60, 5, 1],
  /** Turns in a chain. */
  chain: [500, 50, 6],
  /** Items of a long conversation. */
  conversationItems: [10_000, 10_000, 24],
  /** Concurrent agents. */
  agents: [8, 4, 1],
  /** Responses that are saved per round by many connections at once. */
  saves: [2000, 100, 4],
  /** Requests per round whose latency is measured. */
  requests: [300, 30, 1],
  /** Requests per round that are not streamed. */
  jsonRequests: [5000, 200, 4],
  /** Turns per round one after the other, or in the background. */
  countedTurns: [500, 100, 4],
  /** Chunks in a vector store, and searches per round. */
  chunks: [10_000, 1000, 20],
  searches: [200, 40, 1],
  idleSockets: [5000, 2000, 20],
  /** Bodies of the hostile case, at most. */
  hostileBodies: [100, 100, 2],
  /** Rounds per side, if each one starts a program. */
  starts: [5, 1, 1],
  /** Rounds per side. */
  rounds: [11, 3, 1],
  /** Rounds per side, if one takes seconds. */
  longRounds: [5, 1, 1],
  /** Rounds per side before those. */
  warmUps: [2, 1, 0],
  /** Turns per stream and round. */
  turnsPerStream: [5, 1, 1],
  /** Length of the soak test, s. */
  soakSeconds: [600, 3, 1],
} as const;

/** The sizes of a run. */
export type Sizes = Readonly<Record<keyof typeof SIZES, number>>;

/** The name of every size. */
export const SIZE_NAMES = Object.keys(SIZES) as readonly (keyof Sizes)[];

/** The full sizes; `quick` for a look at every case in minutes; `smallest` to prove that every case works. */
export function toSizes(extent: 'full' | 'quick' | 'smallest'): Sizes {
  const column = { full: 0, quick: 1, smallest: 2 }[extent];
  return Object.fromEntries(SIZE_NAMES.map((name) => [name, SIZES[name][column]])) as Record<keyof Sizes, number>;
}
