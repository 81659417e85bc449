import { describeContract } from './describe-contract.js';

describeContract('vectorStores');
