/** Text generators. */
export const GENERATORS = ['random', 'lorem', 'echo', 'fixed', 'sequence'] as const;

/** One of GENERATORS. */
export type GeneratorName = (typeof GENERATORS)[number];
