import { describe, expect, it } from 'vitest';
import { once, shared, sharedByAll } from './shared.ts';

describe('an object made out of facts', () => {
  const build = () => {
    let made = 0;
    const of = shared(({ name, labels }: { name: string; labels: readonly string[] }) => {
      made += 1;
      return { metadata: { name, labels: [...labels] } };
    });
    return { of, made: () => made };
  };

  it('is the same one as long as its facts are', () => {
    const { of, made } = build();
    const owner = {};
    const labels = ['a'];

    const first = of(owner, { name: 'x', labels });
    const again = of(owner, { name: 'x', labels });

    expect(again).toBe(first);
    expect(made()).toBe(1);
  });

  it('is another one as soon as one fact is another, and for each owner', () => {
    const { of } = build();
    const owner = {};
    const labels = ['a'];
    const first = of(owner, { name: 'x', labels });

    expect(of(owner, { name: 'y', labels }).metadata.name).toBe('y');
    expect(of(owner, { name: 'y', labels: ['b'] }).metadata.labels).toEqual(['b']);
    expect(of({}, { name: 'x', labels })).not.toBe(first);
  });

  it('cannot be changed by any of those who hold it', () => {
    const { of } = build();
    const made = of({}, { name: 'x', labels: ['a'] });

    expect(() => made.metadata.labels.push('b')).toThrow(TypeError);
  });
});

describe('an object made out of plain facts', () => {
  const build = () =>
    sharedByAll(({ name, labels }: { name: string; labels?: object | undefined }) => ({ name, labels }));

  it('is the same one for every owner whose facts are the same, and cannot be changed', () => {
    const of = build();
    const first = of({}, { name: 'x', labels: { a: '1' } });

    expect(of({}, { name: 'x', labels: { a: '1' } })).toBe(first);
    expect(() => Object.assign(first, { name: 'y' })).toThrow(TypeError);
  });

  it('is another one for other facts', () => {
    const of = build();
    const first = of({}, { name: 'x', labels: { a: '1' } });

    expect(of({}, { name: 'x', labels: { a: '2' } })).toEqual({ name: 'x', labels: { a: '2' } });
    expect(of({}, { name: 'x', labels: undefined })).toEqual({ name: 'x', labels: undefined });
    expect(of({}, { name: 'x', labels: { a: '1' } })).toBe(first);
  });
});

describe('a part that is the same for the same text', () => {
  it('is made once for each, and cannot be changed', () => {
    let made = 0;
    const of = once((name) => {
      made += 1;
      return { labels: [name] };
    });

    expect(of('x')).toBe(of('x'));
    expect(of('y')).toEqual({ labels: ['y'] });
    expect(made).toBe(2);
    expect(() => of('x').labels.push('z')).toThrow(TypeError);
  });
});
