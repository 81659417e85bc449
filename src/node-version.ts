/**
 * The oldest version that runs the service, as in `engines` of package.json. This file has only syntax that old versions
 * parse, and imports nothing.
 */
const OLDEST = [22, 21];

/** Whether this Node can run the service. If not, writes to stderr which version is needed, and sets the exit code. */
export function requireNode(): boolean {
  const version = process.versions.node;
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [oldestMajor = 0, oldestMinor = 0] = OLDEST;
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return true;
  const needed = `Antiphon needs Node ${OLDEST.join('.')} or newer, but this is Node ${version}`;
  process.stderr.write(
    `${needed}: install it from https://nodejs.org, or use the npm scripts of a clone, which bring it.\n`,
  );
  process.exitCode = 1;
  return false;
}
