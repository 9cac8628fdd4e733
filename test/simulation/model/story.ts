import type { Taken, Violation } from './explore.ts';
import { CONFIGURATIONS, CORDON, type Machine, NOBODY, NOTE, PHASE, POOL, REBOOT, STAGE, type State } from './state.ts';

/** A broken property as a person reads it: what, and the way to it, a line for everything that one party does in a row. */
export function storyOf({ property, path }: Violation): string {
  const lines = path.reduce<readonly Line[]>(told, []);
  const last = path.at(-1)?.step.to;
  return [
    property,
    ...lines.map(({ text, isFault }, at) => `${String(at + 1).padStart(4)} ${isFault ? '!' : ' '} ${text}`),
    ...(last === undefined ? [] : ['     then:', ...describe(last).map((line) => `       ${line}`)]),
  ].join('\n');
}

interface Line {
  readonly text: string;
  /** Whose line it is, as long as it goes on. */
  readonly who: string;
  readonly isFault: boolean;
}

function told(lines: readonly Line[], { step }: Taken): readonly Line[] {
  const { act, what, machine, isFault } = step;
  const name = machine === NOBODY ? '' : ` cp${machine + 1}`;
  const who = act === undefined ? name : `our program: ${act}${name}`;
  const last = lines.at(-1);
  if (last?.who === who && act !== undefined && what !== 'decided')
    return [...lines.slice(0, -1), { who, text: `${last.text}, ${what}`, isFault: last.isFault || isFault }];
  return [...lines, { who, text: act === undefined ? `${name.trim()} ${what}` : `${who}: ${what}`, isFault }];
}

/** A state in a few lines. */
export function describe(state: State): string[] {
  const { stage, marker, draining, machines, stored, replaced } = state;
  const keys = `${stored ? ', new keys in the record' : ''}${replaced ? ', new keys in the bundle' : ''}`;
  const named = (what: string, machine: number): string => (machine === NOBODY ? '' : `, ${what} cp${machine + 1}`);
  return [
    `${keyOf(STAGE, stage)}${keys}${named('marker', marker)}${named('draining', draining)}`,
    ...machines.map((machine, at) => `cp${at + 1}: ${describeMachine(machine)}`),
  ];
}

function describeMachine({ config, took, pool, apiPool, phase, byUs, cordon, call, note }: Machine): string {
  const cause = phase === PHASE.serving ? '' : byUs ? ' because of us' : ' because of others';
  const parts = [
    `${keyOf(PHASE, phase)}${cause}`,
    keyOf(CORDON, cordon),
    `configuration ${CONFIGURATIONS[config]}${took === config ? '' : `, runs with ${CONFIGURATIONS[took]}`}`,
    `etcd trusts ${keyOf(POOL, pool)}`,
    `its API server ${keyOf(POOL, apiPool)}`,
    ...(call === 0 ? [] : [`a ${call === REBOOT ? 'reboot' : 'configuration'} is under way`]),
    ...(note === NOTE.none ? [] : ['a call is noted']),
  ];
  return parts.join(', ');
}

function keyOf(names: Readonly<Record<string, number>>, value: number): string {
  return Object.entries(names).find(([, each]) => each === value)?.[0] ?? `${value}`;
}
