/** A module of its own, since imports come first: throws an Error that names the version that is needed. */
import { describeOldNode } from '../node-version.js';

const fault = describeOldNode();
if (fault !== undefined) throw new Error(fault);
