import { type Spread, toSpread } from './spread.ts';

/** What one round gave, by the name of the figure. Names carry the unit: `server CPU per event, µs`. */
export type Sample = Readonly<Record<string, number>>;

/** One figure of the service beside the floor's. */
export interface Figure {
  readonly name: string;
  /** Service divided by floor, round by round. Absent where the floor may be nothing at all. */
  readonly ratio?: Spread;
  /** Service minus floor, round by round. */
  readonly difference: Spread;
  readonly service: Spread;
  readonly floor: Spread;
  /** The same of a floor that does all of the work, where that was measured. */
  readonly honest?: Honest;
  /** The same without anything in between, where that was measured. */
  readonly direct?: Direct;
  /** A floor that writes bytes which were made before, where that was measured: for the record, nobody can be so fast. */
  readonly precomputed?: Spread;
}

/** A figure of what service and floor stand in front of, asked directly. */
export interface Direct extends Spread {
  /** What the service adds to it, round by round: service − direct. */
  readonly serviceAdds: Spread;
  /** What the floor adds to it: floor − direct. */
  readonly floorAdds: Spread;
}

/** A figure of the best bare program that does what the service does. */
export interface Honest extends Spread {
  /** Service divided by it, round by round. Absent where it may be nothing at all. */
  readonly ratio?: Spread;
}

/** What is measured against what. Each call is one round. */
export interface Contest {
  readonly service: () => Promise<Sample>;
  readonly floor: () => Promise<Sample>;
  /** A floor that does all of the work. It may leave figures out. */
  readonly honest?: () => Promise<Sample>;
  /** What both of them stand in front of, asked directly. It may leave figures out. */
  readonly direct?: () => Promise<Sample>;
  /** The floor without the making of what it writes. It may leave figures out. */
  readonly precomputed?: () => Promise<Sample>;
}

/** How often rounds are run. */
export interface Rounds {
  /** Rounds of each side that count. */
  readonly rounds: number;
  /** Rounds of each side before them, until the code is compiled. */
  readonly warmUps: number;
}

/** What one round of each side gave, where there are such sides. */
export interface Round {
  readonly direct?: Sample;
  readonly service: Sample;
  readonly floor: Sample;
  readonly honest?: Sample;
  readonly precomputed?: Sample;
}

/** Runs the sides in turns, so that what slows the machine down slows down all. Service and floor give the same figures. */
export async function compare(contest: Contest, { rounds, warmUps }: Rounds): Promise<readonly Figure[]> {
  const all: Round[] = [];
  for (let index = -warmUps; index < rounds; index++) {
    const direct = await contest.direct?.();
    const [service, floor] = [await contest.service(), await contest.floor()];
    const honest = await contest.honest?.();
    const precomputed = await contest.precomputed?.();
    if (index >= 0) all.push({ direct, service, floor, honest, precomputed });
  }
  return toFigures(all);
}

/** Sums up what rounds gave, figure by figure. */
export function toFigures(rounds: readonly Round[]): readonly Figure[] {
  return Object.keys(rounds[0]?.service ?? {}).map((name) => toFigure(name, rounds));
}

function toFigure(name: string, rounds: readonly Round[]): Figure {
  const spread = (calculate: (of: (side: keyof Round) => number) => number): Spread =>
    toSpread(rounds.map((round) => calculate((side) => valueOf(round[side], name))));
  const has = (side: keyof Round): boolean => rounds[0]?.[side]?.[name] !== undefined;
  const toRatio = (side: keyof Round): { readonly ratio?: Spread } => {
    const ratio = spread((of) => of('service') / of(side));
    return ratio.values.every(Number.isFinite) ? { ratio } : {};
  };
  const toDirect = (): Direct => ({
    ...spread((of) => of('direct')),
    serviceAdds: spread((of) => of('service') - of('direct')),
    floorAdds: spread((of) => of('floor') - of('direct')),
  });
  return {
    name,
    ...toRatio('floor'),
    difference: spread((of) => of('service') - of('floor')),
    service: spread((of) => of('service')),
    floor: spread((of) => of('floor')),
    ...(has('honest') ? { honest: { ...spread((of) => of('honest')), ...toRatio('honest') } } : {}),
    ...(has('direct') ? { direct: toDirect() } : {}),
    ...(has('precomputed') ? { precomputed: spread((of) => of('precomputed')) } : {}),
  };
}

function valueOf(sample: Sample | undefined, name: string): number {
  const value = sample?.[name];
  if (value === undefined) throw new Error(`a round has no figure '${name}'`);
  return value;
}
