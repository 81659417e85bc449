import type { Rounds } from './case.ts';

/** The values of one round, by the name of the figure. Names include the unit: `server CPU per event, µs`. */
export type Sample = Readonly<Record<string, number>>;

/** What is compared in a round, in the order in which it runs: `direct` asks the upstream itself, `honest` is a floor that does all of the work. */
export const SIDES = ['direct', 'service', 'floor', 'honest'] as const;

/** What is compared with the others. */
export type Side = (typeof SIDES)[number];

/** The samples of one round. */
export type Round = Readonly<Partial<Record<Side, Sample>>>;

/** Values of several rounds. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
  /** By round. */
  readonly values: readonly number[];
}

/** One figure of the service and of the floor. */
export interface Figure {
  readonly name: string;
  /** Service divided by floor, by round. Absent if the floor may be zero. */
  readonly ratio?: Spread;
  /** Service minus floor, by round. */
  readonly difference: Spread;
  readonly service: Spread;
  readonly floor: Spread;
  /** The honest floor, if measured, and the service divided by it, unless it may be zero. */
  readonly honest?: Spread & { readonly ratio?: Spread };
  /** Direct requests to the upstream, if measured, and what service and floor add to them. */
  readonly direct?: Spread & { readonly serviceAdds: Spread; readonly floorAdds: Spread };
}

/** Runs the sides in alternating rounds, so that disturbances affect all of them. */
export async function compare(
  sides: Readonly<Partial<Record<Side, () => Promise<Sample>>>>,
  { rounds, warmUps }: Rounds,
): Promise<readonly Figure[]> {
  const all: Round[] = [];
  for (let index = -warmUps; index < rounds; index++) {
    const round: Partial<Record<Side, Sample>> = {};
    for (const side of SIDES) {
      const sample = await sides[side]?.();
      if (sample !== undefined) round[side] = sample;
    }
    if (index >= 0) all.push(round);
  }
  return toFigures(all);
}

/** Summarises rounds by figure: those of the service that the floor has, too. */
export function toFigures(rounds: readonly Round[]): readonly Figure[] {
  const [first] = rounds;
  const names = Object.keys(first?.service ?? {}).filter((name) => first?.floor?.[name] !== undefined);
  return names.map((name) => toFigure(name, rounds));
}

function toFigure(name: string, rounds: readonly Round[]): Figure {
  const spread = (calculate: (of: (side: Side) => number) => number): Spread =>
    toSpread(rounds.map((round) => calculate((side) => valueOf(round[side], name))));
  const has = (side: Side): boolean => rounds[0]?.[side]?.[name] !== undefined;
  const toRatio = (side: Side): { readonly ratio?: Spread } => {
    const ratio = spread((of) => of('service') / of(side));
    return ratio.values.every(Number.isFinite) ? { ratio } : {};
  };
  const toDirect = (): Figure['direct'] => ({
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
  };
}

function valueOf(sample: Sample | undefined, name: string): number {
  const value = sample?.[name];
  if (value === undefined) throw new Error(`a round has no figure '${name}'`);
  return value;
}

function toSpread(values: readonly number[]): Spread {
  return { median: toQuantile(values, 0.5), min: Math.min(...values), max: Math.max(...values), values };
}

/** A quantile, interpolated between the two nearest values. */
export function toQuantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (index: number): number => sorted[index] ?? NaN;
  const place = (sorted.length - 1) * share;
  const below = Math.floor(place);
  return at(below) + (at(Math.ceil(place)) - at(below)) * (place - below);
}
