import { writeConfiguration } from '../configuration.ts';
import { viewOf } from '../machine.ts';
import type { Checker } from '../run.ts';

/** S7: what is not ours in a configuration is never changed, and at the end it is byte for byte what the new bundle renders. */
export function foreignBytes(): Checker {
  const seen = new Map<string, string>();
  return {
    property: 'S7 foreign bytes',
    check({ world }) {
      for (const machine of world.machines()) {
        if (seen.get(machine.name) === machine.config) continue;
        const isFirst = !seen.has(machine.name);
        const before = seen.get(machine.name) ?? '';
        seen.set(machine.name, machine.config);
        if (isFirst) continue;
        if (skeleton(before) !== skeleton(machine.config))
          return `a line of ${machine.name} that is not ours was changed`;
      }
      return undefined;
    },
    end({ world, store, operation, scenario }) {
      if (operation?.status.stage !== 'Done') return undefined;
      for (const { name, role, config, born } of world.machines()) {
        const shape = scenario.shape ?? 'typed';
        const hostname = /^\s*hostname: (\S+)/m.exec(config)?.[1] ?? name;
        const { bundle } = store.document;
        const { apiServerPort } = viewOf(born, name);
        const wanted = writeConfiguration({ role, shape, bundle, hostname, apiServerPort });
        if (config.replace(COMMENT, '') !== wanted) {
          return `the configuration of ${name} is not what the new bundle renders`;
        }
      }
      return undefined;
    },
  };
}

/** What somebody who edits adds to a configuration, or takes away again. */
const COMMENT = '# somebody was here\n';

const OURS =
  /^\s*(-\s*)?(crt|key|cert|privateKey|acceptedCAs)\b.*$|^\s*- \|.*$|^\s*-----.*$|^\s*[A-Za-z0-9+/=]{40,}$|^\s*[A-Za-z0-9+/=]{1,64}==?$/;

/** Everything that no rotation may touch, line by line. The worlds of one process have the same few configurations. */
function skeleton(config: string): string {
  const known = skeletons.get(config) ?? readSkeleton(config.replace(COMMENT, ''));
  if (skeletons.size >= KEPT) skeletons.clear();
  skeletons.set(config, known);
  return known;
}

const KEPT = 1_000;
const skeletons = new Map<string, string>();

function readSkeleton(config: string): string {
  const lines = config.split('\n');
  let isInPem = false;
  return lines
    .filter((line) => {
      if (line.includes('-----BEGIN')) isInPem = true;
      const isPem = isInPem;
      if (line.includes('-----END')) isInPem = false;
      return !isPem && !OURS.test(line);
    })
    .join('\n');
}
