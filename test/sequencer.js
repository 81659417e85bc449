import Sequencer from '@jest/test-sequencer';

/** What builds processes, or sends thousands of requests: begun last, it would run on while the other workers have nothing to do. */
const LONG = [/\/test\/cluster\//, /\/test\/process\//, /\/test\/robustness\//];

/** Runs what takes long first, on a machine too that has never run the tests and so knows no times. */
export default class LongestFirst extends Sequencer {
  sort(tests) {
    const rank = ({ path }) => LONG.findIndex((pattern) => pattern.test(path)) >>> 0;
    return super.sort(tests).toSorted((one, other) => rank(one) - rank(other));
  }
}
