/** The Node that ichor is built for (`engines` in package.json). What is older may begin, and lacks something half way. */
const NEEDED = 24;

const [major = ''] = process.versions.node.split('.');
if (Number(major) < NEEDED) {
  process.stderr.write(
    `error: ichor needs Node ${NEEDED}; this is ${process.versions.node} (${process.execPath})\nStart it with another node; nothing was done.\n`,
  );
  // `usage` of EXIT_CODES, which is not loaded before it is known that it can be.
  process.exitCode = 2;
} else {
  await import('./start.ts');
}
