import { parseArgs } from 'node:util';
import { FULL, rulesWithout, SMALL } from './configurations.ts';
import { explore } from './explore.ts';
import { RULES, type Rules } from './rules.ts';
import { storyOf } from './story.ts';

/** Goes through every state of the protocol; see `docs/reference/model.md`. */
const { values } = parseArgs({
  options: {
    /** Only the explorations of the ordinary tests. */
    small: { type: 'boolean', default: false },
    /** Leaves rules out, as in `cordon,drain`, and tells what then goes wrong. */
    without: { type: 'string', default: '' },
  },
});

const without = values.without.split(',').filter((name) => name !== '');
const unknown = without.filter((name) => !(name in RULES));
if (unknown.length > 0) {
  process.stderr.write(`no rule is called ${unknown.join(', ')}; expected some of ${Object.keys(RULES).join(', ')}\n`);
  process.exit(2);
}

let states = 0;
for (const { name, shape, left } of values.small ? SMALL : FULL) {
  const began = performance.now();
  const found = explore({ shape, rules: rulesWithout(...(without as (keyof Rules)[])) }, left);
  states += found.states;
  const numbers = [
    `${number(found.states)} states`,
    `${number(found.steps)} steps`,
    `${number(found.depth)} deep`,
    `done in ${number(found.done)}`,
    `waiting for a person in ${number(found.blocked)}`,
    `${Math.round((performance.now() - began) / 1_000)} s`,
    `${Math.round(process.memoryUsage.rss() / 1_048_576)} MiB`,
  ];
  process.stdout.write(`${name}: ${numbers.join(', ')}\n`);
  if (found.violation === undefined) continue;
  process.stdout.write(`${storyOf(found.violation)}\n`);
  process.exitCode = 1;
  break;
}
process.stdout.write(
  `${number(states)} states, ${process.exitCode === 1 ? 'a property is broken' : 'nothing is broken'}\n`,
);

function number(count: number): string {
  return count.toLocaleString('en');
}
