/**
 * The oldest version that runs the service, as in `engines` of package.json. This file has only syntax that old versions
 * parse, and imports nothing.
 */
const OLDEST = [22, 21];

/** Which version is needed in place of this one; undefined if it can run the service. */
export function describeOldNode(): string | undefined {
  const version = process.versions.node;
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [oldestMajor = 0, oldestMinor = 0] = OLDEST;
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return undefined;
  const needed = `Antiphon needs Node ${OLDEST.join('.')} or newer, but this is Node ${version}`;
  return `${needed}: install it from https://nodejs.org, or use the npm scripts of a clone, which bring it.`;
}

/** Whether this Node can run the service. If not, writes to stderr which version is needed, and sets the exit code. */
export function requireNode(): boolean {
  const fault = describeOldNode();
  if (fault === undefined) return true;
  process.stderr.write(`${fault}\n`);
  process.exitCode = 1;
  return false;
}
