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

/** Summarises rounds by figure: those of the service that the floor has, too. */
export function toFigures(rounds: readonly Round[]): readonly Figure[] {
  const [first] = rounds;
  const names = Object.keys(first?.service ?? {}).filter((name) => first?.floor?.[name] !== undefined);
  return names.map((name) => {
    const spread = (calculate: (of: (side: Side) => number) => number): Spread =>
      toSpread(rounds.map((round) => calculate((side) => valueOf(round[side], name))));
    const toRatio = (side: Side): { readonly ratio?: Spread } => {
      const ratio = spread((of) => of('service') / of(side));
      return ratio.values.every(Number.isFinite) ? { ratio } : {};
    };
    const addedTo = (side: Side, other: Side): Spread => spread((of) => of(side) - of(other));
    const plain = (side: Side): Spread => spread((of) => of(side));
    const has = (side: Side): boolean => first?.[side]?.[name] !== undefined;
    const toDirect = () => ({
      ...{ ...plain('direct'), serviceAdds: addedTo('service', 'direct'), floorAdds: addedTo('floor', 'direct') },
    });
    return {
      ...{ name, ...toRatio('floor'), difference: addedTo('service', 'floor') },
      ...{ service: plain('service'), floor: plain('floor') },
      ...(has('honest') ? { honest: { ...plain('honest'), ...toRatio('honest') } } : {}),
      ...(has('direct') ? { direct: toDirect() } : {}),
    };
  });
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
  const sorted = Float64Array.from(values).sort();
  const at = (index: number): number => sorted[index] ?? NaN;
  const place = (sorted.length - 1) * share;
  const below = Math.floor(place);
  return at(below) + (at(Math.ceil(place)) - at(below)) * (place - below);
}
