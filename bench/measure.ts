/** What one round gave, by the name of the figure. Names carry the unit: `server CPU per event, µs`. */
export type Sample = Readonly<Record<string, number>>;

/** Figures of several rounds. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
  /** Round by round. */
  readonly values: readonly number[];
}

/** One figure of the service beside the floor's. */
export interface Figure {
  readonly name: string;
  /** Service divided by floor, round by round. */
  readonly ratio: Spread;
  readonly service: Spread;
  readonly floor: Spread;
}

/** What is measured against what. Each call is one round. */
export interface Contest {
  readonly service: () => Promise<Sample>;
  readonly floor: () => Promise<Sample>;
}

/** How often rounds are run. */
export interface Rounds {
  /** Rounds of each side that count. */
  readonly rounds: number;
  /** Rounds of each side before them, until the code is compiled. */
  readonly warmUps: number;
}

/** Runs the two sides in turns, so that what slows the machine down slows down both. Both give the same figures. */
export async function compare({ service, floor }: Contest, { rounds, warmUps }: Rounds): Promise<readonly Figure[]> {
  const pairs: { readonly service: Sample; readonly floor: Sample }[] = [];
  for (let round = -warmUps; round < rounds; round++) {
    const pair = { service: await service(), floor: await floor() };
    if (round >= 0) pairs.push(pair);
  }
  return Object.keys(pairs[0]?.service ?? {}).map((name) => {
    const services = pairs.map((pair) => valueOf(pair.service, name));
    const floors = pairs.map((pair) => valueOf(pair.floor, name));
    const ratios = pairs.map((pair) => valueOf(pair.service, name) / valueOf(pair.floor, name));
    return { name, ratio: toSpread(ratios), service: toSpread(services), floor: toSpread(floors) };
  });
}

function valueOf(sample: Sample, name: string): number {
  const value = sample[name];
  if (value === undefined) throw new Error(`a round has no figure '${name}'`);
  return value;
}

function toSpread(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (index: number): number => sorted[index] ?? NaN;
  const middle = (sorted.length - 1) / 2;
  const median = (at(Math.floor(middle)) + at(Math.ceil(middle))) / 2;
  return { median, min: at(0), max: at(sorted.length - 1), values };
}
