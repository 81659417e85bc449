import { type Spread, toSpread } from './spread.ts';

/** The values of one round, by the name of the figure. Names include the unit: `server CPU per event, µs`. */
export type Sample = Readonly<Record<string, number>>;

/** One figure of the service and of the floor. */
export interface Figure {
  readonly name: string;
  /** Service divided by floor, by round. Absent if the floor may be zero. */
  readonly ratio?: Spread;
  /** Service minus floor, by round. */
  readonly difference: Spread;
  readonly service: Spread;
  readonly floor: Spread;
  /** The honest floor, if measured. */
  readonly honest?: Honest;
  /** Direct requests to the upstream, if measured. */
  readonly direct?: Direct;
  /** A floor that writes precomputed bytes, if measured: a theoretical limit. */
  readonly precomputed?: Spread;
}

/** A figure of direct requests to the upstream. */
export interface Direct extends Spread {
  /** Service − direct, by round. */
  readonly serviceAdds: Spread;
  /** Floor − direct, by round. */
  readonly floorAdds: Spread;
}

/** A figure of the honest floor: the best bare program with the functionality of the service. */
export interface Honest extends Spread {
  /** Service divided by honest floor, by round. Absent if the honest floor may be zero. */
  readonly ratio?: Spread;
}

/** The sides of a comparison. Each call is one round. */
export interface Contest {
  readonly service: () => Promise<Sample>;
  readonly floor: () => Promise<Sample>;
  /** The honest floor. May omit figures. */
  readonly honest?: () => Promise<Sample>;
  /** Direct requests to the upstream. May omit figures. */
  readonly direct?: () => Promise<Sample>;
  /** A floor that writes precomputed bytes. May omit figures. */
  readonly precomputed?: () => Promise<Sample>;
}

/** Numbers of rounds. */
export interface Rounds {
  /** Measured rounds per side. */
  readonly rounds: number;
  /** Warm-up rounds per side. */
  readonly warmUps: number;
}

/** The samples of one round of each side. */
export interface Round {
  readonly direct?: Sample;
  readonly service: Sample;
  readonly floor: Sample;
  readonly honest?: Sample;
  readonly precomputed?: Sample;
}

/** Alternates between the sides, so that disturbances affect all of them. Service and floor must have the same figures. */
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

/** Summarises rounds by figure. */
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
