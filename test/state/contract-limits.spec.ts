import { describeContract } from './describe-contract.js';

describeContract('limits', 'usage');
