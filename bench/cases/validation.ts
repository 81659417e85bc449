import { compare, type Sample } from '../measure.ts';
import { Validator } from '../processes/validator.ts';
import type { BenchmarkCase, Comparison, Goal, Sizes } from './benchmark-case.ts';

const CPU = 'CPU per request, µs';

/** The cost of validating a request of 500 items. The floor is the cost of parsing it. */
export const validationCase: BenchmarkCase = {
  name: 'validation',
  async run(sizes: Sizes): Promise<readonly Comparison[]> {
    await using validator = await Validator.start();
    const requests = sizes.validations;
    const run = async (step: 'parse' | 'check'): Promise<Sample> => {
      const { cpuMicroseconds } = await validator.run({ step, requests });
      return { [CPU]: cpuMicroseconds / requests };
    };
    const figures = await compare({ service: () => run('check'), floor: () => run('parse') }, sizes);
    const goals: readonly Goal[] = [{ figure: CPU, of: 'ratio', atMost: 2 }];
    return [{ name: 'validation, 500 items ÷ JSON.parse', figures, goals }];
  },
};
