import { describe, expect, it } from 'vitest';
import { differences } from '../recordings/compare.ts';
import { parseRecording, writeRecording } from '../recordings/recording.ts';
import { simulations } from './one-world.ts';
import { record, scenarioOf } from './replay.ts';
import { plain, type TARGET_SETS } from './scenarios.ts';

describe('a recorded rotation', () => {
  const simulate = simulations();
  const recorded = async (topology: string, targets: (typeof TARGET_SETS)[number], seed = 1) =>
    (await record(plain(topology, targets, seed), simulate.mint())).recording;

  it('is the same from every seed, although everything takes another time', async () => {
    const first = await recorded('1+1', ['kubernetes', 'etcd'], 1);
    const second = await recorded('1+1', ['kubernetes', 'etcd'], 2);

    expect(differences(first, second)).toEqual([]);
    expect(first.steps.map(({ at }) => at)).not.toEqual(second.steps.map(({ at }) => at));
  });

  it('is watched and not disturbed: machines and Nodes get the same calls in the same order', async () => {
    const scenario = plain('1+1', ['talos', 'etcd']);

    const watched = await record(scenario, simulate.mint());
    const alone = await simulate(scenario);

    const calls = ({ calls }: typeof alone) => calls.filter((call) => !/^store|eviction$/.test(call));
    expect(watched.result.violations).toEqual([]);
    expect(calls(watched.result)).toEqual(calls(alone));
    expect(calls(alone).filter((call) => call.startsWith('Reboot'))).toHaveLength(2);
  });

  it('tells of each worker of a batch what the batch moved on it', async () => {
    const { steps } = await recorded('1+3', ['talos']);

    expect(
      steps.flatMap(({ stage, machine, moved }) => (stage === 'Issuing' && moved ? [[machine, moved.length]] : [])),
    ).toEqual([
      ['cp1', 5],
      ['w1', 4],
      ['w2', 4],
      ['w3', 4],
    ]);
  });

  it('survives its file', async () => {
    const recording = await recorded('1+0', ['talos']);

    expect(parseRecording(writeRecording(recording), 'a file')).toEqual(recording);
  });

  it('holds no certificate, no fingerprint and no key', async () => {
    const text = writeRecording(await recorded('1+1', ['talos', 'kubernetes', 'etcd', 'kubernetes-aggregator']));

    expect(text).not.toMatch(/BEGIN|PRIVATE/);
    expect(text).not.toMatch(/[A-Za-z0-9+/]{32}/);
  });

  it('is compared in every fact but those that it says it lacks', async () => {
    const whole = await recorded('1+0', ['talos']);
    const facts = { ...whole.before.cp1, 'etcd takes': '?' };
    const found = { ...whole, before: { cp1: facts } };

    expect(differences(found, whole)).toEqual(['cp1 before the first effect: etcd takes: recorded ?, replayed old']);
    expect(differences({ ...found, lacks: { 'etcd takes': 'nobody listened' } }, whole)).toEqual([]);
  });

  it('tells what a run of a scenario is made of', async () => {
    const scenario = { ...plain('3+1', ['talos']), talosVersion: '1.13.2', shape: 'legacy' as const };
    const { recording } = await record(scenario, simulate.mint());

    expect(scenarioOf(recording, 1)).toEqual({
      ...scenario,
      spec: { restartWorkloads: 'Never', previousBundle: 'Remove' },
    });
  });
});
