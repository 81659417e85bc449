/** The observations of one combination of labels. */
interface Series {
  readonly labels: Readonly<Record<string, string>>;
  /** By bucket, those of larger buckets not included; the last is beyond all bounds. */
  readonly counts: Float64Array;
  sum: number;
}

/** What a histogram is called, and what it distinguishes. */
export interface HistogramOptions<L extends string> {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly L[];
  /** Upper bounds, ascending. */
  readonly buckets: readonly number[];
}

/** A sample of the exposition. */
interface Sample {
  readonly metricName: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

/**
 * A histogram in a registry of prom-client, whose own one checks and joins the labels of every observation, which is most of what metrics
 * cost a turn.
 */
export class Histogram<L extends string> {
  readonly type = 'histogram';
  readonly aggregator = 'sum';
  readonly name: string;
  readonly help: string;
  private readonly labelNames: readonly L[];
  private readonly bounds: readonly number[];
  private readonly series = new Map<string, Series>();

  constructor({ name, help, labelNames, buckets }: HistogramOptions<L>) {
    this.name = name;
    this.help = help;
    this.labelNames = labelNames;
    this.bounds = buckets;
  }

  /** Counts a value, with the values of the labels in the order of their names. */
  observe(value: number, ...labels: readonly string[]): void {
    const series = this.seriesOf(labels);
    let bucket = 0;
    while (bucket < this.bounds.length && value > (this.bounds[bucket] ?? 0)) bucket += 1;
    series.counts[bucket] = (series.counts[bucket] ?? 0) + 1;
    series.sum += value;
  }

  /** What prom-client writes. */
  async get(): Promise<object> {
    const values = [...this.series.values()].flatMap((series) => this.samplesOf(series));
    return { name: this.name, help: this.help, type: this.type, aggregator: this.aggregator, values };
  }

  /** Forgets everything. */
  reset(): void {
    this.series.clear();
  }

  private seriesOf(labels: readonly string[]): Series {
    // Of all labels only a model may have line breaks, and it stands before names that have none.
    const key = labels.join('\n');
    let series = this.series.get(key);
    if (series === undefined) {
      const named = Object.fromEntries(this.labelNames.map((name, index) => [name, labels[index] ?? '']));
      series = { labels: named, counts: new Float64Array(this.bounds.length + 1), sum: 0 };
      this.series.set(key, series);
    }
    return series;
  }

  private samplesOf({ labels, counts, sum }: Series): readonly Sample[] {
    let count = 0;
    const buckets = [...counts].map((own, index): Sample => {
      count += own;
      return {
        metricName: `${this.name}_bucket`,
        labels: { le: this.bounds[index] ?? '+Inf', ...labels },
        value: count,
      };
    });
    return [
      ...buckets,
      { metricName: `${this.name}_sum`, labels, value: sum },
      { metricName: `${this.name}_count`, labels, value: count },
    ];
  }
}
