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
  /** The same without anything in between, where that was measured. */
  readonly direct?: Direct;
}

/** A figure of what service and floor stand in front of, asked directly. */
export interface Direct extends Spread {
  /** What the service adds to it, round by round: service − direct. */
  readonly serviceAdds: Spread;
  /** What the floor adds to it: floor − direct. */
  readonly floorAdds: Spread;
}

/** What is measured against what. Each call is one round. */
export interface Contest {
  readonly service: () => Promise<Sample>;
  readonly floor: () => Promise<Sample>;
  /** What both of them stand in front of, asked directly. It may leave figures out. */
  readonly direct?: () => Promise<Sample>;
}

/** How often rounds are run. */
export interface Rounds {
  /** Rounds of each side that count. */
  readonly rounds: number;
  /** Rounds of each side before them, until the code is compiled. */
  readonly warmUps: number;
}

/** What one round of each side gave. */
interface Round {
  readonly direct: Sample;
  readonly service: Sample;
  readonly floor: Sample;
}

/** Runs the sides in turns, so that what slows the machine down slows down all. Service and floor give the same figures. */
export async function compare(contest: Contest, { rounds, warmUps }: Rounds): Promise<readonly Figure[]> {
  const all: Round[] = [];
  for (let index = -warmUps; index < rounds; index++) {
    const direct = (await contest.direct?.()) ?? {};
    const round = { direct, service: await contest.service(), floor: await contest.floor() };
    if (index >= 0) all.push(round);
  }
  return Object.keys(all[0]?.service ?? {}).map((name) => toFigure(name, all));
}

function toFigure(name: string, rounds: readonly Round[]): Figure {
  const spread = (calculate: (of: (side: keyof Round) => number) => number): Spread =>
    toSpread(rounds.map((round) => calculate((side) => valueOf(round[side], name))));
  const figure = {
    name,
    ratio: spread((of) => of('service') / of('floor')),
    service: spread((of) => of('service')),
    floor: spread((of) => of('floor')),
  };
  if (rounds[0]?.direct[name] === undefined) return figure;
  const direct = {
    ...spread((of) => of('direct')),
    serviceAdds: spread((of) => of('service') - of('direct')),
    floorAdds: spread((of) => of('floor') - of('direct')),
  };
  return { ...figure, direct };
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
